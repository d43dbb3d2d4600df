import { classRanks } from "../../lib/colours";
import { login } from "../../live/me";

interface ClassSelectProps {
  label: string;
  value: string;
  onChange: (name: string) => void;
  none?: string; // offered when no class is chosen
  without?: string; // a class that is not offered
}

/** A choice of a class; a tenant is offered only those that it may use. */
export function ClassSelect({ label, value, onChange, none, without }: ClassSelectProps) {
  const allowed = login.value.state === "in" ? login.value.me.limits?.classes : undefined;
  const names = [...classRanks.value.keys()].filter(
    (name) => name !== without && (!allowed?.length || allowed.includes(name)),
  );
  return (
    <select
      aria-label={label}
      class="class-select"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {none !== undefined && <option value="">{none}</option>}
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
