const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A time as C's ctime writes it, `Fri Aug  4 11:44:30 2023`, as ISO 8601 without a zone; null for anything else. */
export function monthDate(text: string): string | null {
  const [, month, day, time, year] =
    /\b([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4})\b/.exec(text.slice(0, 100)) ?? [];
  const number = MONTHS.indexOf(month ?? "") + 1;
  if (number === 0 || Number(day) < 1 || Number(day) > 31) return null;
  return `${year}-${String(number).padStart(2, "0")}-${String(day).padStart(2, "0")}T${time}`;
}
