import { useRef, useState } from "preact/hooks";

/** A place for files: drop them, or choose them. */
export function FileDrop({ onFiles }: { onFiles: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button within it does the same
    <div
      class={`file-drop ${over ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <span>Drop a file here: CSV with a header, JSON lines or Arrow. Large ones are sent in pieces.</span>
      <button type="button" class="button" onClick={() => input.current?.click()}>
        Choose a file
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files with rows"
        accept=".csv,.jsonl,.ndjson,.json,.arrow,.arrows,.feather,.ipc"
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
    </div>
  );
}
