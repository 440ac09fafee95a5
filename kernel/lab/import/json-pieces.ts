/** One value of a large JSON text, cut out of it; not parsed yet. */
export interface JsonPiece {
  /** Name of a member of the outermost object; null for an element of the list. */
  readonly key: string | null;
  readonly text: string;
}

/** A longer value is taken for one whose end was not found: a quotation mark that is not escaped hides it. */
const LONGEST_PIECE = 2 ** 20;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a] as const;
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d] as const;

/** Where the cutter stands: before the text, between members, in the value of one, between or in elements, behind the end. */
type Place = "start" | "key" | "value" | "element" | "end";

/**
 * Cuts a JSON text into the members of its outermost object and the elements of one list in it (or of the outermost list), so that a file of any
 * size is read with the memory of one element. What it does not look at it does not check: the pieces have to be parsed.
 */
export class JsonPieces {
  /** Elements whose end was not found, and which were left out. */
  damaged = 0;
  /** Members too long to be kept, by name. */
  readonly skipped: string[] = [];
  readonly #list: string;
  #place: Place = "start";
  #outerList = false;
  #key = "";
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Bytes of the piece that came with earlier chunks. */
  #before: Buffer[] = [];
  #beforeLength = 0;
  #tooLong = false;

  /** @param list name of the member whose elements are wanted one by one. */
  constructor(list: string) {
    this.#list = list;
  }

  /** Whether the text came to its end. */
  get complete(): boolean {
    return this.#place === "end";
  }

  /** The pieces that end in this part of the text. */
  push(chunk: Uint8Array): JsonPiece[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const pieces: JsonPiece[] = [];
    let from = 0;
    for (let at = 0; at < bytes.length && this.#place !== "end"; at++) {
      const byte = bytes[at] as number;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#inString = false;
        continue;
      }
      if (byte === QUOTE) {
        this.#inString = true;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (this.#opens(byte, bytes.subarray(from, at))) from = at + 1;
        else this.#depth++;
      } else if (this.#depth > 0) {
        if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth--;
      } else if (byte === COLON && this.#place === "key") {
        this.#key = keyOf(this.#take(bytes.subarray(from, at)));
        this.#place = "value";
        from = at + 1;
      } else if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.#close(byte, this.#take(bytes.subarray(from, at)), pieces);
        from = at + 1;
      }
    }
    if (this.#place !== "end") this.#keep(bytes.subarray(from), pieces);
    return pieces;
  }

  /** An opening bracket that leads into the object or the list, and belongs to no piece. */
  #opens(byte: number, text: Buffer): boolean {
    if (this.#place === "start") {
      this.#place = byte === OPEN_BRACKET ? "element" : "key";
      this.#outerList = byte === OPEN_BRACKET;
      return true;
    }
    const begins = this.#depth === 0 && this.#beforeLength === 0 && blank(text);
    if (this.#place === "value" && byte === OPEN_BRACKET && this.#key === this.#list && begins) {
      this.#place = "element";
      return true;
    }
    return false;
  }

  /** The end of a value. */
  #close(byte: number, text: Buffer, pieces: JsonPiece[]): void {
    if (this.#place === "element") {
      if (!blank(text)) pieces.push({ key: null, text: text.toString("utf8") });
      if (byte === CLOSE_BRACKET) this.#place = this.#outerList ? "end" : "value";
    } else {
      if (this.#place === "value" && this.#key !== this.#list) {
        if (this.#tooLong) this.skipped.push(this.#key);
        else pieces.push({ key: this.#key, text: text.toString("utf8") });
      }
      this.#place = byte === COMMA ? "key" : "end";
    }
    this.#tooLong = false;
  }

  #take(last: Buffer): Buffer {
    if (this.#beforeLength === 0) return last;
    const whole = Buffer.concat([...this.#before, last]);
    this.#before = [];
    this.#beforeLength = 0;
    return whole;
  }

  /** What belongs to a piece that goes on in the next part. */
  #keep(rest: Buffer, pieces: JsonPiece[]): void {
    if (this.#tooLong || (this.#beforeLength === 0 && blank(rest))) return;
    // A copy: the part itself may be reused by its reader.
    this.#before.push(Buffer.from(rest));
    this.#beforeLength += rest.length;
    if (this.#beforeLength <= LONGEST_PIECE) return;
    const piece = this.#take(Buffer.alloc(0));
    if (this.#place === "element") this.#resume(piece, pieces);
    else this.#tooLong = true;
  }

  /** Goes on behind the first place that looks like the begin of another element. */
  #resume(piece: Buffer, pieces: JsonPiece[]): void {
    this.damaged++;
    const next = /\}\s*,\s*(?=\{)/.exec(piece.toString("latin1"));
    this.#depth = 0;
    this.#inString = false;
    this.#escaped = false;
    if (next) {
      for (const found of this.push(piece.subarray(next.index + next[0].length))) pieces.push(found);
    } else {
      // Nothing to hold on to: the rest of this element is read over until one begins.
      this.#depth = 1;
    }
  }
}

function blank(text: Buffer): boolean {
  for (const byte of text) {
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false;
  }
  return true;
}

function keyOf(text: Buffer): string {
  try {
    return String(JSON.parse(text.toString("utf8")));
  } catch {
    return text.toString("utf8").trim();
  }
}
