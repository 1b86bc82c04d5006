// What a page of a comparison asks.

/** What is asked of the address; every line is asked for, what is shown is chosen on the page. */
export function asked(query: URLSearchParams) {
  const one = (name: string) => query.get(name);
  return {
    a: one("a"),
    b: one("b"),
    margin: one("margin"),
    window: one("window"),
    by: query.getAll("by"),
    per: one("per"),
    force: query.has("force") && !["false", "0"].includes(one("force") ?? ""),
    all: true,
  };
}
