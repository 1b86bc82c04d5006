// Whether panels stand close together: without their explanations, and with lower charts.

import { createContext } from "preact";
import { useContext } from "preact/hooks";

export const Compact = createContext(false);

/** Pixels of a chart that is `width` wide. */
export function useHeight(width: number): number {
  const compact = useContext(Compact);
  return compact ? 132 : width < 500 ? 180 : 220;
}
