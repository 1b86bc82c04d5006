// Points of a series: each has its shape beside its colour, so that colour is not the only difference.

export function Mark({ shape, x, y, fill, size = 4.5 }: { shape: number; x: number; y: number; fill: string; size?: number }) {
  const s = size;
  switch (shape % 5) {
    case 1:
      return <rect x={x - s} y={y - s} width={2 * s} height={2 * s} fill={fill} />;
    case 2:
      return <path d={`M${x} ${y - s * 1.25}L${x + s * 1.2} ${y + s}L${x - s * 1.2} ${y + s}Z`} fill={fill} />;
    case 3:
      return <path d={`M${x} ${y - s * 1.35}L${x + s * 1.35} ${y}L${x} ${y + s * 1.35}L${x - s * 1.35} ${y}Z`} fill={fill} />;
    case 4:
      return <path d={`M${x} ${y + s * 1.25}L${x + s * 1.2} ${y - s}L${x - s * 1.2} ${y - s}Z`} fill={fill} />;
    default:
      return <circle cx={x} cy={y} r={s} fill={fill} />;
  }
}
