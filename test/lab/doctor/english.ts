/** Two English words in a row, which a Chinese text has only in quotations and commands; null where there are none. */
export function englishIn(chinese: string): string | null {
  const own = chinese.replace(/"[^"]*"/g, "").replace(/nvidia-smi [a-z0-9 -]+|fabric manager/g, "");
  return /\b[a-z]{2,}[ ,:;]+[a-z]{2,}\b/.exec(own)?.[0] ?? null;
}
