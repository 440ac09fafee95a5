/** A value, or why there is none: what a probe answers instead of throwing. */
export type Told<T> = { readonly value: T } | { readonly value: null; readonly reason: string };

/** Name of a field that is null → why. */
export type Missing = Readonly<Record<string, string>>;

export function known<T>(value: T): Told<T> {
  return { value };
}

export function unknown(reason: string): Told<never> {
  return { value: null, reason };
}

/** Why there is no value; empty where there is one. */
export function reasonOf(told: Told<unknown>): string {
  return told.value === null && "reason" in told ? told.reason : "";
}

/** What a reader makes of a value; null says that the value is not understood, and `wanted` what it should have been. */
export function understood<T, U>(told: Told<T>, read: (value: T) => U | null, wanted: string): Told<U> {
  if (told.value === null) return unknown(reasonOf(told));
  const found = read(told.value);
  return found === null ? unknown(`${short(told.value)} is not ${wanted}`) : known(found);
}

/** One object of fields that are null where nothing was told, with the reasons in `missing`. */
export function gather<T extends object>(
  told: { readonly [K in keyof T]: Told<T[K]> },
): { readonly [K in keyof T]: T[K] | null } & { readonly missing: Missing } {
  const values: Record<string, unknown> = {};
  const missing: Record<string, string> = {};
  for (const [name, one] of Object.entries(told) as [string, Told<unknown>][]) {
    values[name] = one.value;
    if (one.value === null) missing[name] = reasonOf(one);
  }
  return { ...values, missing } as never;
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
