/** The shapes of the server's answers, as far as the pages use them; docs/rest.md describes all of them. */

export type Role = "view" | "submit" | "operate";

export interface Me {
  name: string;
  role: Role;
  tenant: string;
  limits: { classes?: string[]; [limit: string]: unknown } | null;
  csrf: string | null;
}

export interface Distribution {
  count: number;
  mean?: number;
  p50?: number;
  p95?: number;
  p99?: number;
}

export interface Latency {
  last_10_s: Distribution;
  last_minute: Distribution;
  last_10_minutes: Distribution;
}

export interface TargetStatus {
  target: string;
  seconds: number;
  percentile: number;
  state: "met" | "missed" | "no results" | string;
  overdue: boolean;
  since?: number;
  share_met?: number;
  reached?: number;
  missed_by?: number;
}

export interface ClassStatus {
  priority: number;
  queries: number;
  oldest_wait: number;
  rate: number;
  waiting: number;
  runs: number;
  tuples_in: number;
  tuples_out: number;
  dead_letters: number;
  late: number;
  skipped: number;
  undelivered: number;
  latency: Latency;
  load?: number;
  targets?: { met: number; missed: number; share?: number };
}

export interface QueryStatus {
  class: string;
  state: string;
  sink: string;
  priority: number;
  waiting: number;
  oldest_wait: number;
  rate: number;
  runs: number;
  tuples_in: number;
  tuples_out: number;
  dead_letters: number;
  late: number;
  skipped: number;
  undelivered: number;
  is_late: boolean;
  latency: Latency;
  target?: TargetStatus;
  error?: string;
  last_commit?: number;
  stalled?: number;
  failing?: number; // tuples that became dead letters in the last minute
  backfill?: { read: number; of: number };
}

export interface StreamStatus {
  tuples: number;
  kept_from: number;
  finished: boolean;
  rate: number;
  dead_letters: number;
  error?: string;
  note?: string;
  lag?: { query: string; tuples: number; oldest_wait: number };
}

export interface EngineStatus {
  state: "starting" | "ready" | "restarting" | "stopping" | "stopped" | "failed";
  detail: string;
  seconds: number;
}

export interface Status {
  engine: EngineStatus;
  at?: number;
  seconds?: number;
  policy?: string;
  runs?: number;
  spark_jobs?: number;
  cancelled?: { runs: number; share_of_time: number };
  workers?: string[];
  load?: { workers: number; running: number; idle: number; queued: number; decisions_per_second?: number };
  classes?: Record<string, ClassStatus>;
  queries?: Record<string, QueryStatus>;
  streams?: Record<string, StreamStatus>;
  inversion?: Record<string, { below: string; ratio: number }>;
  starved?: string[];
  disk?: { free: number; full: boolean; error?: string };
  policy_error?: string;
  spark_error?: string;
}

export interface JournalEntry {
  at: number;
  query: string;
  from: string;
  to: string;
  reason: string;
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface Run {
  id: number;
  worker: number;
  class: string;
  unit: string;
  members: number;
  tuples: number;
  oldest: number;
  began: number;
  evaluated?: number; // its worker was free then
  ended?: number; // its results were committed then
  state: "done" | "running" | "cancelled" | "failed" | "unfinished";
}

export interface Runs {
  runs: Run[];
  running: Run[];
  next: string;
  at: number;
  from: number;
  workers: number;
}

export type Numbers = Record<string, number>;

export interface Decision {
  at: number;
  since_start: number;
  winner: string;
  class: string;
  queries: string[];
  tuples: number;
  waited: number;
  decision?: number;
  run?: number;
  worker?: number;
  policy?: string | null;
  rule?: string | null;
  reason?: string | null;
  numbers?: Numbers;
  runner_up?: string | null;
  runner_up_numbers?: Numbers;
  sentence?: string;
  waiting?: { unit: string; class: string; queries: string[]; tuples: number; waited: number; numbers?: Numbers }[];
}

export interface PlanNode {
  id: string;
  kind: string;
  text: string;
  rows_in_per_second: number | null;
  rows_out_per_second: number | null;
  cost: number | null;
  selectivity: number | null;
  shared_with: string[];
  inputs: PlanNode[];
  covers?: string[];
  runs?: number;
  overhead?: number;
}

export interface Column {
  name: string;
  type: string;
}

export const PARTS = ["window", "queue", "running", "commit", "sink"] as const;
export type Part = (typeof PARTS)[number];

export interface QueryDetails extends Omit<QueryStatus, "target"> {
  name: string;
  sql: string;
  target: string | null;
  target_status: TargetStatus | null;
  columns: Column[];
  streams: string[];
  since: string;
  once: boolean;
  start: number | null;
  end: number | null;
  lag: string | null;
  qos: [number, number][] | null;
  journal: JournalEntry[];
  plan: PlanNode;
  plan_text: string;
  group: string[];
  where_its_time_goes?: { results: number; seconds: number; parts: Record<Part, number> } | null;
}

export interface LatencyCurve {
  step: number;
  at: number[];
  results: (number | null)[];
  p50: (number | null)[];
  p95: (number | null)[];
  max: (number | null)[];
  parts: Record<Part, (number | null)[]>;
}

export interface Latencies {
  step: number;
  at: number[];
  classes: Record<
    string,
    { p50: (number | null)[]; p95: (number | null)[]; waiting: (number | null)[]; rate: (number | null)[] }
  >;
  queries: Record<string, (number | null)[]>;
}

export interface StreamDetails {
  name: string;
  schema: string;
  event_time: string | null;
  watermark: number | null;
  ahead: number | null;
  source: string | null;
  tuples: number;
  kept_from: number;
  finished: boolean;
  rate: number;
  bytes: number;
  dead_letters: number;
  slowest_reader: { query: string; tuples: number; oldest_wait: number } | null;
  source_error: string | null;
  source_note: string | null;
}

export interface ClassDetails {
  name: string;
  priority: number;
  lag: string | null;
  target: string | null;
}

export interface NetworkNode {
  id: string;
  kind: "stream" | "table" | "operator" | "query";
  text: string;
  operator?: string;
  class?: string;
  group?: string;
  queries: string[];
  waiting: number;
  rate: number;
  cost?: number;
  selectivity?: number;
}

export interface Network {
  nodes: NetworkNode[];
  edges: { from: string; to: string; rate: number; waiting: number }[];
  groups: {
    id: string;
    class: string;
    queries: string[];
    waiting: number;
    oldest_wait: number;
    rate: number;
    runs: number;
  }[];
}

/** A run that was in the way of a result; its times are seconds since the engine began. */
export interface Delay {
  seconds: number;
  cause: string;
  run: number | null;
  decision: number | null;
  worker: number | null;
  unit: string;
  class: string;
  queries: string[];
  tuples: number;
  began: number;
  evaluated: number | null;
  ended: number | null;
  numbers: Numbers | null;
  own_numbers: Numbers | null;
  reason: string;
}

export interface TimeShares {
  results: number;
  seconds: number;
  parts: Record<Part, number>;
}

/** What a result waited for; its times are seconds since the engine began. */
export interface Why {
  query: string;
  class: string;
  sentence: string;
  seconds: number;
  cause: string;
  parts: Record<Part, number>;
  causes: Record<string, number>;
  delays: Delay[];
  means: TimeShares | null;
  waits_still: boolean;
  moments: Record<string, number | null>;
  run: { run: number | null; tuples: number; unit: string; began: number; ended: number | null } | null;
}

export interface TableDetails {
  name: string;
  schema: string;
  path: string | null;
  error: string | null;
  queries: string[];
}

export interface NewQueryBody {
  name: string;
  sql: string;
  class?: string;
  sink?: string;
  target?: string;
  qos?: [number, number][];
  since?: string;
  once?: boolean;
  start?: number | string;
  end?: number | string;
  lag?: string;
}

export interface ClassEffect {
  without: number | null;
  with: number | null;
  change: number | null;
  error: number | null;
  within_error: boolean | null;
}

export interface DryRunAnswer {
  name: string;
  class: string;
  columns: Column[];
  plan: PlanNode;
  form: string | null;
  group: string[];
  cost:
    | { seconds_per_run: number; seconds_per_tuple: number; measured_of: string; runs: number; in_group: boolean }
    | "unknown";
  slows: {
    queries: Record<string, { results: number; response_time: { mean: number | null; p95: number | null } }>;
    classes: Record<string, ClassEffect>;
    slower: string[];
    text: string;
  } | null;
  slows_reason: string | null;
}

export interface DeadLetter {
  reason: string;
  arrival: number;
  query?: string | null;
  offsets?: [string, number][] | null;
  offset?: number | null;
  row?: Record<string, unknown> | null;
  text?: string | null;
  values?: unknown;
}

export interface Replayed {
  taken: number;
  dead_again: Record<string, number>;
  left: Record<string, number>;
}

export interface SampleRow {
  offset: number;
  arrival: number;
  late: boolean;
  row: Record<string, unknown>;
}
