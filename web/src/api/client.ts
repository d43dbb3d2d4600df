/** Requests to the server: JSON in and out, and errors as the server words them. */

import { parseExact } from "../lib/exact_json";

/** What the server refused, and why (RFC 9457). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly where = "",
    readonly hint = "",
  ) {
    super(detail);
  }

  /** Whether the same request may succeed later. */
  get passing(): boolean {
    return [0, 429, 502, 503, 504].includes(this.status); // 502 and 504 are from something between
  }
}

let csrf = "";
let refused: (problem: Problem) => void = () => {};

/** The token that requests which change something must carry when a cookie logs this page in. */
export function setCsrf(token: string | null): void {
  csrf = token ?? "";
}

/** Call `tell` whenever the server does not know who asks. */
export function onUnauthorized(tell: (problem: Problem) => void): void {
  refused = tell;
}

export interface Options {
  body?: unknown; // sent as JSON
  raw?: { type: string; data: BodyInit }; // sent as it is
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Ask the server, and return the JSON of its answer; a `Problem` if it refuses or does not answer. */
export async function request<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const response = await send(method, path, options);
  const text = await response.text();
  if (!response.ok) {
    const problem = toProblem(response.status, text);
    if (problem.status === 401) refused(problem);
    throw problem;
  }
  return (text ? parseExact(text) : null) as T;
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> =>
  request<T>("GET", path, signal ? { signal } : {});
export const post = <T>(path: string, body?: unknown, options: Options = {}): Promise<T> =>
  request<T>("POST", path, body === undefined ? options : { ...options, body });
export const put = <T>(path: string, body: unknown): Promise<T> => request<T>("PUT", path, { body });
export const patch = <T>(path: string, body: unknown): Promise<T> => request<T>("PATCH", path, { body });
export const remove = <T>(path: string): Promise<T> => request<T>("DELETE", path);

/** The path of something with a name, as `/v1/queries/a%20b/pause`. */
export function pathOf(kind: string, name: string, ...more: string[]): string {
  return [`/v1/${kind}`, encodeURIComponent(name), ...more].join("/");
}

/** An address with a query string of the settings that have a value. */
export function withQuery(path: string, settings: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query ? `${path}?${query}` : path;
}

async function send(method: string, path: string, options: Options): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  if (csrf && method !== "GET") headers["X-CSRF-Token"] = csrf;
  let body: BodyInit | undefined;
  if (options.raw) {
    headers["Content-Type"] = options.raw.type;
    body = options.raw.data;
  } else if (options.body !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(options.body);
  }
  const settings: RequestInit = { method, headers, credentials: "same-origin" };
  if (body !== undefined) settings.body = body;
  if (options.signal) settings.signal = options.signal;
  try {
    return await fetch(path, settings);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "the server does not answer", "", "it may be restarting; this page tries again by itself");
  }
}

function toProblem(status: number, text: string): Problem {
  try {
    const told = JSON.parse(text) as { detail?: unknown; where?: string; hint?: string };
    if (typeof told.detail === "string") return new Problem(status, told.detail, told.where ?? "", told.hint ?? "");
  } catch {
    // not from the server itself, but from something between
  }
  return new Problem(status, `the server answered ${status}`, "", "try again, or look at its log");
}
