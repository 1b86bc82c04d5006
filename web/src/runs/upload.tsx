// Brings a file into the store: an archive that was exported, or what another tool printed.

import { useEffect, useRef, useState } from "preact/hooks";
import { generation } from "../api";
import { go, link } from "../router";
import { human } from "../units";

interface Going {
  name: string;
  sent: number;
  size: number;
}

/** Sends one file; `report` hears how much has gone. XMLHttpRequest, because fetch does not say. */
function sendFile(file: File, report: (sent: number) => void): Promise<string[]> {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    request.open("POST", link("/api/v1/import", { filename: file.name }));
    request.setRequestHeader("X-Fenxi", "1");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (e) => report(e.loaded);
    request.onerror = () => fail(new Error("the server does not answer"));
    request.onload = () => {
      let answer: { runs?: string[]; error?: string } = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // Reported below by its status.
      }
      if (request.status < 300 && answer.runs) done(answer.runs);
      else fail(new Error(answer.error ?? `the server answers ${request.status}`));
    };
    request.send(file);
  });
}

/** The button, and the whole window as a place to drop files. */
export function Upload() {
  const input = useRef<HTMLInputElement>(null);
  const [going, setGoing] = useState<Going | null>(null);
  const [error, setError] = useState("");
  const take = async (files: File[]) => {
    const made: string[] = [];
    setError("");
    for (const file of files) {
      try {
        setGoing({ name: file.name, sent: 0, size: file.size });
        made.push(...(await sendFile(file, (sent) => setGoing({ name: file.name, sent, size: file.size }))));
      } catch (problem) {
        setError(`${file.name}: ${problem instanceof Error ? problem.message : String(problem)}`);
      }
    }
    setGoing(null);
    if (made.length > 0) generation.set(generation.value + 1);
    if (made.length === 1) go(link("/run", { run: made[0] }));
  };
  useEffect(() => {
    const over = (e: DragEvent) => e.dataTransfer?.types.includes("Files") && e.preventDefault();
    const drop = (e: DragEvent) => {
      if (!e.dataTransfer?.files.length) return;
      e.preventDefault();
      void take([...e.dataTransfer.files]);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, []);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="files to import"
        onChange={(e) => void take([...(e.currentTarget.files ?? [])])}
      />
      <button
        type="button"
        class="plain"
        onClick={() => input.current?.click()}
        title="An archive made by `fenxi store export`, or the output of sar, vmstat, iostat and others; files can be dropped on this page as well"
      >
        Import a file
      </button>
      {going && (
        <span class="quiet" role="status">
          {going.sent < going.size ? `${going.name}: ${human(going.sent, "B")} of ${human(going.size, "B")}` : `${going.name}: importing`}
        </span>
      )}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </>
  );
}
