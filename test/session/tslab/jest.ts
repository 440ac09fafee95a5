/** What tslab's specs use of jest; every expectation that fails is kept, so that one spec tells all that differs. */
import { inspect, isDeepStrictEqual } from "node:util";

type Work = () => unknown;

export interface SpecResult {
  readonly title: string;
  /** What was expected and what came, for each expectation that failed. */
  readonly failures: readonly string[];
}

interface Spec {
  readonly title: string;
  readonly work: Work;
}

/** Texts for which equality is another one than that of strings. */
export type Equality = (received: unknown, expected: unknown) => boolean | null;

export class Jest {
  readonly #specs: Spec[] = [];
  readonly #groups: string[] = [];
  readonly #hooks: Record<"beforeAll" | "afterAll" | "afterEach", Work[]> = {
    beforeAll: [],
    afterAll: [],
    afterEach: [],
  };
  readonly #equality: Equality;
  #failures: string[] = [];

  constructor(equality: Equality) {
    this.#equality = equality;
  }

  /** By the names under which a spec finds them. */
  globals(): Record<string, unknown> {
    const hook = (name: keyof typeof this.hooks) => (work: Work) => void this.hooks[name].push(work);
    return {
      describe: (title: string, work: Work) => {
        this.#groups.push(title);
        work();
        this.#groups.pop();
      },
      it: (title: string, work: Work) => void this.#specs.push({ title: this.#titleOf(title), work }),
      expect: (received: unknown) => this.#expectations(received),
      fail: (text: string) => void this.#failures.push(text),
      beforeAll: hook("beforeAll"),
      afterAll: hook("afterAll"),
      afterEach: hook("afterEach"),
    };
  }

  get hooks(): Readonly<Record<"beforeAll" | "afterAll" | "afterEach", Work[]>> {
    return this.#hooks;
  }

  /** A title that two specs share is numbered. */
  #titleOf(title: string): string {
    const whole = [...this.#groups, title].join(" › ");
    const earlier = this.#specs.filter((spec) => spec.title.replace(/ \(\d+\)$/, "") === whole).length;
    return earlier === 0 ? whole : `${whole} (${earlier + 1})`;
  }

  async run(): Promise<SpecResult[]> {
    const results: SpecResult[] = [];
    for (const work of this.#hooks.beforeAll) await work();
    for (const { title, work } of this.#specs) {
      this.#failures = [];
      try {
        await work();
      } catch (error) {
        this.#failures.push(String(error));
      }
      for (const after of this.#hooks.afterEach) await after();
      results.push({ title, failures: this.#failures });
    }
    for (const work of this.#hooks.afterAll) await work();
    return results;
  }

  #expectations(received: unknown) {
    const check = (holds: boolean, how: string, expected?: unknown) => {
      if (!holds)
        this.#failures.push(`${inspect(received, { depth: 5 })} ${how} ${inspect(expected, { depth: 5 })}`);
    };
    const equal = (a: unknown, b: unknown) => this.#equality(a, b) ?? isDeepStrictEqual(plain(a), plain(b));
    return {
      toBe: (expected: unknown) => check(Object.is(received, expected), "is not", expected),
      toEqual: (expected: unknown) => check(equal(received, expected), "does not equal", expected),
      toBeUndefined: () => check(received === undefined, "is not undefined"),
      toContain: (part: string) => check(String(received).includes(part), "does not hold", part),
      toBeGreaterThan: (bound: number) => check((received as number) > bound, "is not above", bound),
      toBeLessThan: (bound: number) => check((received as number) < bound, "is not below", bound),
    };
  }
}

/** jest's toEqual: by enumerable values, without those that are undefined; errors by their message. */
function plain(value: unknown): unknown {
  if (value instanceof Error) return { message: value.message };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .map(([name, one]) => [name, plain(one)]),
  );
}
