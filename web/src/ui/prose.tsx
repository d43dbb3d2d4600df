import { type Block, blocks, pieces } from "../lib/prose";
import "./prose.css";

/** A description with paragraphs, lists and examples; all of it is shown as text. */
export function Prose({ text }: { text: string }) {
  return (
    <div class="prose">
      {blocks(text).map((block, at) => (
        <BlockView key={`${at} ${block.kind}`} block={block} />
      ))}
    </div>
  );
}

function BlockView({ block }: { block: Block }) {
  if (block.kind === "example") return <Example lines={block.lines} />;
  if (block.kind === "list") {
    return (
      <ul>
        {block.items.map((item) => (
          <li key={item}>
            <Line text={item} />
          </li>
        ))}
      </ul>
    );
  }
  return (
    <p>
      <Line text={block.text} />
    </p>
  );
}

/** Text in one line, with what is between back-quotes as code. */
export function Line({ text }: { text: string }) {
  return (
    <>
      {pieces(text).map((piece, at) =>
        piece.code ? (
          <code key={`${at} ${piece.text}`}>{piece.text}</code>
        ) : (
          <span key={`${at} ${piece.text}`}>{piece.text}</span>
        ),
      )}
    </>
  );
}

/** What one could type in Python, and what comes of it. */
function Example({ lines }: { lines: readonly string[] }) {
  return (
    <pre class="example">
      {lines.map((line, at) => (
        <span key={`${at} ${line}`} class={/^(>>>|\.\.\.)/.test(line) ? "typed" : "printed"}>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
