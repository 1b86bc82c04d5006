// The questions that there are, the own ones first; a click begins with one.

import { useState } from "preact/hooks";
import type { Header, SectionName } from "../api.gen";
import { plural } from "../units";

const OWN = "Own questions";

interface Props {
  questions: Header[];
  sections: SectionName[];
  chosen: string | null;
  onChoose: (question: Header) => void;
  onDelete?: (question: Header) => void;
}

export function QuestionList({ questions, sections, chosen, onChoose, onDelete }: Props) {
  const [text, setText] = useState("");
  const wanted = text.toLowerCase();
  const found = questions.filter((q) => `${q.id} ${q.title} ${q.about}`.toLowerCase().includes(wanted));
  const groups = new Map<string, Header[]>();
  for (const q of found) {
    const group = q.own ? OWN : (sections.find((s) => s.id === q.section)?.title ?? "Others");
    groups.set(group, [...(groups.get(group) ?? []), q]);
  }
  const order = [...groups.keys()].sort((a, b) => Number(b === OWN) - Number(a === OWN));
  return (
    <aside class="question-list" aria-label="questions">
      <input
        type="search"
        class="wide-search"
        placeholder={`find in ${plural(questions.length, "question")}`}
        aria-label="find a question"
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <div class="question-groups" tabIndex={0} role="group" aria-label="questions by subject">
        {order.map((group) => (
          <div key={group}>
            <h2 class="group">{group}</h2>
            <ul>
              {groups.get(group)!.map((q) => (
                <li key={q.id}>
                  <button type="button" aria-current={q.id === chosen ? "true" : undefined} title={q.about} onClick={() => onChoose(q)}>
                    {q.title}
                  </button>
                  {q.own && onDelete && (
                    <button
                      type="button"
                      class="remove"
                      aria-label={`delete the question ${q.title}`}
                      title="Delete this question"
                      onClick={() => onDelete(q)}
                    >
                      ✕
                    </button>
                  )}
                </li>
              ))}
            </ul>
          </div>
        ))}
        {found.length === 0 && <p class="quiet">No matching question.</p>}
      </div>
    </aside>
  );
}
