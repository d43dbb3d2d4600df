/** A what-if question: as it is in the address, and as the server wants it. */

import type { Fusion } from "../../api/deciding_types";
import { FUSIONS } from "../../api/deciding_types";

export interface Question {
  policies: string[];
  fuse: Fusion | "";
  priorities: Record<string, string>; // by class; "": as it is
  rate: string;
  workers: string;
  minutes: string; // of the record, the newest
  sql: string; // of an added query
  sqlClass: string;
  by: string; // what ranks
}

export const MOST_POLICIES = 8;
export const MINUTES = ["1", "2", "5", "10"] as const;
export const USUAL_MINUTES = "1";

/** The question of an address. */
export function questionOf(query: URLSearchParams): Question {
  const fuse = query.get("fuse") as Fusion;
  const minutes = query.get("minutes") ?? USUAL_MINUTES;
  return {
    policies: [...new Set(query.getAll("policy").filter(Boolean))].slice(0, MOST_POLICIES),
    fuse: FUSIONS.includes(fuse) ? fuse : "",
    priorities: Object.fromEntries(query.getAll("priority").flatMap(priorityOf)),
    rate: query.get("rate") ?? "",
    workers: query.get("workers") ?? "",
    minutes: MINUTES.includes(minutes as (typeof MINUTES)[number]) ? minutes : USUAL_MINUTES,
    sql: query.get("sql") ?? "",
    sqlClass: query.get("class") ?? "",
    by: query.get("by") ?? "",
  };
}

function priorityOf(text: string): [string, string][] {
  const equals = text.lastIndexOf("=");
  return equals > 0 ? [[text.slice(0, equals), text.slice(equals + 1)]] : [];
}

/** The query string of a question; what is as usual is left out. */
export function addressOf(question: Question): string {
  const query = new URLSearchParams();
  for (const policy of question.policies) query.append("policy", policy);
  for (const [name, priority] of Object.entries(question.priorities)) {
    if (priority.trim()) query.append("priority", `${name}=${priority.trim()}`);
  }
  const { fuse, rate, workers, minutes, sql, sqlClass, by } = question;
  const single = { fuse, rate, workers, minutes: minutes === USUAL_MINUTES ? "" : minutes, sql, class: sqlClass, by };
  for (const [name, value] of Object.entries(single)) {
    if (value) query.set(name, value);
  }
  return query.toString();
}

/** The question as the server wants it. */
export function bodyOf(question: Question): Record<string, unknown> {
  const priorities = Object.entries(question.priorities).filter(([, priority]) => priority.trim());
  return {
    last: Number(question.minutes) * 60,
    ...(question.policies.length && { policies: question.policies }),
    ...(question.fuse && { fuse: question.fuse }),
    ...(priorities.length && {
      priorities: Object.fromEntries(priorities.map(([name, priority]) => [name, Number(priority)])),
    }),
    ...(question.rate.trim() && { rate: Number(question.rate) }),
    ...(question.workers.trim() && { workers: Number(question.workers) }),
    ...(question.sql.trim() && { added: { sql: question.sql, class: question.sqlClass } }),
    ...(question.by && { by: question.by }),
  };
}

/** Whether anything is to be different. */
export const asksSomething = (question: Question): boolean =>
  Object.keys(bodyOf(question)).some((name) => name !== "last" && name !== "by");

/** What is wrong with a question, as far as the page can tell; "" if nothing is. */
export function problemOf(question: Question): string {
  const { rate, workers, sql, sqlClass, priorities } = question;
  if (rate.trim() && !(Number(rate) > 0 && Number(rate) <= 1000)) return "The rate must be above 0 and at most 1000.";
  if (workers.trim() && !(Number.isInteger(Number(workers)) && Number(workers) >= 1))
    return "Workers must be a whole number of at least 1.";
  for (const [name, priority] of Object.entries(priorities)) {
    if (priority.trim() && !(Number(priority) > 0 && Number.isFinite(Number(priority))))
      return `The priority of ${name} must be above 0.`;
  }
  if (sql.trim() && !sqlClass) return "Say which class the added query is of.";
  return "";
}

/** What is different beside the policy, in words. */
export function differences(question: Question): string[] {
  const words: string[] = [];
  if (question.fuse) words.push(`fusion ${question.fuse}`);
  for (const [name, priority] of Object.entries(question.priorities)) {
    if (priority.trim()) words.push(`priority ${priority.trim()} for ${name}`);
  }
  if (question.rate.trim()) words.push(`${question.rate.trim()} times as many tuples`);
  if (question.workers.trim()) words.push(`${question.workers.trim()} workers`);
  if (question.sql.trim()) words.push(`one more query in ${question.sqlClass}`);
  return words;
}
