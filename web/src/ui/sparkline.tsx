import { cssVariables } from "./marks";

interface SparklineProps {
  values: readonly (number | null)[];
  label: string; // what it shows, for those who cannot see it
  target?: number | undefined; // drawn as a dashed line
  colour?: string;
}

const WIDTH = 110;
const HEIGHT = 24;

/** A small line of values over time; gaps where nothing is known. */
export function Sparkline({ values, label, target, colour }: SparklineProps) {
  const top = Math.max(target ?? 0, ...values.map((value) => value ?? 0)) * 1.08 || 1;
  const y = (value: number) => HEIGHT - 1 - (value / top) * (HEIGHT - 2);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      style={colour ? cssVariables({ "--colour": colour }) : undefined}
    >
      {target !== undefined && <line class="target" x1="0" x2={WIDTH} y1={y(target)} y2={y(target)} />}
      {pieces(values).map((piece) => (
        <polyline
          key={piece[0]?.[0]}
          points={piece
            .map(([at, value]) => `${round((at / Math.max(1, values.length - 1)) * WIDTH)},${round(y(value))}`)
            .join(" ")}
        />
      ))}
    </svg>
  );
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** The stretches without a gap, as (place, value); a single value becomes a short line. */
function pieces(values: readonly (number | null)[]): [number, number][][] {
  const found: [number, number][][] = [];
  let piece: [number, number][] = [];
  values.forEach((value, at) => {
    if (value !== null) piece.push([at, value]);
    else if (piece.length) {
      found.push(piece);
      piece = [];
    }
  });
  if (piece.length) found.push(piece);
  return found.map((one) => (one.length > 1 ? one : [one[0]!, [one[0]![0] + 0.8, one[0]![1]]]));
}
