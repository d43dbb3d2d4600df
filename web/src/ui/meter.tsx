import { percent } from "../lib/format";
import { cssVariables } from "./marks";

export interface Share {
  name: string;
  share: number; // of 1
  colour: string;
}

/** A bar made of shares, with its legend. */
export function Meter({ shares, label, legend = true }: { shares: readonly Share[]; label: string; legend?: boolean }) {
  const told = shares.map((part) => `${part.name} ${percent(part.share)}`).join(", ");
  return (
    <div>
      <div class="meter" role="img" aria-label={`${label}: ${told}`}>
        {shares.map((part) => (
          <span
            key={part.name}
            title={`${part.name}: ${percent(part.share)}`}
            style={cssVariables({ "--colour": part.colour, width: `${Math.max(0, part.share) * 100}%` })}
          />
        ))}
      </div>
      {legend && (
        <ul class="legend">
          {shares.map((part) => (
            <li key={part.name} style={cssVariables({ "--colour": part.colour })}>
              <i aria-hidden="true" />
              {part.name} <span class="number">{percent(part.share)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
