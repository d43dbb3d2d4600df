import { put } from "../../api/client";
import type { Change, CurrentPolicy, Fusion, PolicyDetails, PolicySetting } from "../../api/deciding_types";
import { FUSIONS } from "../../api/deciding_types";
import { valueText, writePolicy, writeSettings } from "../../lib/policy_text";
import { choose, place } from "../../lib/router";
import { may } from "../../live/me";
import { Action } from "../../ui/action";
import { Field } from "../../ui/field";
import { Panel } from "../../ui/panel";
import { PreviewView, PreviewWords, usePreview } from "../../ui/preview";
import { COMMON_SETTINGS, FUSION_MEANING } from "./names";

interface SettingsProps {
  policy: PolicyDetails;
  current: CurrentPolicy;
  settings: Record<string, string>;
  reload: () => void;
}

/** The settings of a policy, as a form that makes the policy's text; then preview and use it. */
export function SettingsPanel({ policy, current, settings, reload }: SettingsProps) {
  const text = writePolicy(policy.name, settings);
  const change = (name: string, value: string) =>
    choose({ settings: writeSettings({ ...settings, [name]: value }) || " " });
  const own = policy.settings.filter((setting) => !COMMON_SETTINGS.has(setting.name));
  const common = policy.settings.filter((setting) => COMMON_SETTINGS.has(setting.name));
  const inputs = (those: PolicySetting[]) =>
    those.map((setting) => (
      <SettingField key={setting.name} setting={setting} value={settings[setting.name] ?? ""} onChange={change} />
    ));
  return (
    <Panel title={may("operate", { shared: true }) ? "Use it" : "Settings"}>
      <div class="stack">
        {own.length > 0 ? (
          <div class="settings-grid">{inputs(own)}</div>
        ) : (
          <p class="quiet-text">Its rule has no settings of its own.</p>
        )}
        <details open={common.some((setting) => settings[setting.name])}>
          <summary>How its runs are made: {common.map((setting) => setting.name).join(", ")}</summary>
          <div class="settings-grid">{inputs(common)}</div>
        </details>
        <div class="field">
          <span class="label">As it is written</span>
          <pre class="code-line">{text}</pre>
        </div>
        {may("operate", { shared: true }) && <UsePart text={text} current={current} reload={reload} />}
      </div>
    </Panel>
  );
}

/** Preview and switch, for who may. */
function UsePart({ text, current, reload }: { text: string; current: CurrentPolicy; reload: () => void }) {
  const asked = place.value.query.get("fuse") as Fusion | null;
  const fuse = asked && FUSIONS.includes(asked) ? asked : null;
  const same = text === current.policy && (fuse === null || fuse === current.fuse);
  const change: Change = fuse ? { policy: text, fuse } : { policy: text };
  const preview = usePreview(change);
  const use = async () => {
    await put("/v1/policy", change);
    choose({ settings: null, fuse: null });
    reload();
  };
  return (
    <>
      <Field label="Queries that share jobs" hint={FUSION_MEANING[fuse ?? current.fuse]}>
        <select value={fuse ?? ""} onChange={(event) => choose({ fuse: event.currentTarget.value })}>
          <option value="">as now: {current.fuse}</option>
          {FUSIONS.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </Field>
      <div class="row">
        <button type="button" class="button" onClick={preview.ask} disabled={same || preview.state === "asking"}>
          Preview
        </button>
        <Action
          kind="primary"
          disabled={same}
          run={use}
          done={`From now on ${text} decides`}
          ask={{
            title: `Let ${text} decide instead of ${current.policy}?`,
            text: <PreviewWords preview={preview.preview} />,
            yes: "Use it",
          }}
        >
          Use it
        </Action>
        {same && <span class="quiet-text">It is in force as it stands here.</span>}
      </div>
      <PreviewView of={preview} />
    </>
  );
}

interface SettingFieldProps {
  setting: PolicySetting;
  value: string; // "": the default
  onChange: (name: string, value: string) => void;
}

function SettingField({ setting, value, onChange }: SettingFieldProps) {
  const { name, type, choices } = setting;
  const usual = valueText(setting.default);
  const options = type === "true or false" ? ["true", "false"] : choices;
  const allowed = limits(setting);
  const hint = allowed ? `${setting.meaning} (${allowed})` : setting.meaning;
  if (options.length > 0) {
    return (
      <Field label={name} hint={hint}>
        <select value={value} onChange={(event) => onChange(name, event.currentTarget.value)}>
          <option value="">{usual} (default)</option>
          {options
            .filter((option) => option !== usual)
            .map((option) => (
              <option key={option} value={option}>
                {option}
              </option>
            ))}
        </select>
      </Field>
    );
  }
  const wrong = problemOf(setting, value);
  return (
    <Field label={name} hint={hint} {...(wrong && { error: wrong })}>
      <input
        type="text"
        inputMode={type === "text" ? "text" : "decimal"}
        value={value}
        placeholder={usual ? `${usual} (default)` : "none"}
        onChange={(event) => onChange(name, event.currentTarget.value)}
      />
    </Field>
  );
}

/** Which numbers are allowed, as `at least 0`; "" if all are. */
function limits({ least, most }: PolicySetting): string {
  if (least !== null && most !== null) return `${least} to ${most}`;
  if (least !== null) return `at least ${least}`;
  return most !== null ? `at most ${most}` : "";
}

/** What is wrong with a value, as far as the page can tell; the server checks all of it. */
function problemOf(setting: PolicySetting, value: string): string {
  const { type, least, most } = setting;
  if (type === "text" || value === "" || !/^[-+]?[\d.]+$/.test(value)) return ""; // words such as auto, and times with units
  const number = Number(value);
  if (type === "whole number" && !Number.isInteger(number)) return "must be a whole number";
  if ((least !== null && number < least) || (most !== null && number > most)) return `must be ${limits(setting)}`;
  return "";
}
