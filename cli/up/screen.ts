import type { OperatorView } from '../../operator/records/status.ts';
import { partNames, viewOf, type PartName, type StackModel } from '../stack/model.ts';
import type { Isolation } from '../stack/isolation.ts';
import type { PartState } from '../stack/part-state.ts';
import { safe, type Terminal } from '../terminal.ts';
import { instructions } from '../../lib/connect.ts';
import { connectable, connectLines, happeningLine, invitation, overview, partLines, partWords, standing } from './picture.ts';
import { happenings, told, type Happening } from './story.ts';

const FRAME_MS = 100;
/** Width of the time before each change. */
const HANG = 10;

/**
 * Shows a running stack: a live picture while it starts, then what is published and how to connect, then what changes. Where nothing can be
 * redrawn each change is a line; with `--json` each is a document.
 */
export class Screen {
  readonly #terminal: Terminal;
  readonly #catalog: string;
  #model: StackModel | undefined;
  #shown: StackModel['parts'] | undefined;
  #told: OperatorView | undefined;
  #phase: 'starting' | 'running' | 'stopping' = 'starting';
  readonly #startedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(terminal: Terminal, about: { catalog: string }) {
    this.#terminal = terminal;
    this.#catalog = about.catalog;
  }

  open(model: StackModel, title: string): void {
    this.#terminal.line(this.#terminal.paint.dim(title));
    this.#timer = setInterval(() => this.#draw(), FRAME_MS);
    this.show(model);
  }

  /** The stack has settled: sums up, and shows from now on what changes. */
  ready(isolation: Isolation | undefined): void {
    if (this.#model === undefined || this.#phase !== 'starting') return;
    this.#sumUp(this.#model, isolation);
    this.#draw();
  }

  show(model: StackModel): void {
    this.#model = model;
    if (this.#timer === undefined || this.#phase === 'stopping') return;
    this.#showParts(model);
    if (this.#phase === 'running') this.#tellChanges(model);
    this.#draw();
  }

  stopping(): void {
    this.#phase = 'stopping';
    clearInterval(this.#timer);
    this.#terminal.live?.clear();
    this.#terminal.line('stopping');
    this.#terminal.data({ event: 'stopping' });
  }

  stopped(): void {
    this.#terminal.line('stopped: every process and every sandbox is gone; the state stays');
    this.#terminal.data({ event: 'stopped' });
  }

  #sumUp(model: StackModel, isolation: Isolation | undefined): void {
    const { paint, live } = this.#terminal;
    this.#phase = 'running';
    live?.draw(partLines(model, this.#elapsed(), paint));
    live?.keep();
    this.#terminal.line();
    for (const line of overview(model, isolation, paint)) this.#terminal.prose(line);
    for (const line of connectLines(model, paint)) this.#terminal.line(line);
    this.#terminal.prose(invitation(this.#catalog), 0);
    this.#terminal.line();
    const view = viewOf(model);
    const servers = connectable(view);
    this.#terminal.data({
      event: 'ready',
      registry: model.urls.registry,
      isolation: isolation ?? null,
      declarations: view?.declarations ?? [],
      connect: instructions(servers, model.urls.registry),
    });
    this.#told = view;
  }

  #draw(): void {
    const { live, paint } = this.#terminal;
    const model = this.#model;
    if (live === undefined || model === undefined || this.#phase === 'stopping') return;
    live.draw(this.#phase === 'starting' ? partLines(model, this.#elapsed(), paint) : [standing(model, Date.now(), paint)]);
  }

  #showParts(model: StackModel): void {
    const before = this.#shown;
    this.#shown = model.parts;
    for (const name of partNames) {
      const state = model.parts[name];
      if (before?.[name] === state) continue;
      this.#terminal.data({ event: 'part', name, ...state });
      // while starting, a terminal shows this in its live picture
      if (this.#phase === 'running' || this.#terminal.live === undefined) this.#tellPart(name, state);
    }
  }

  #tellPart(name: PartName, state: PartState): void {
    if (state.is === 'starting' && this.#phase === 'running') return;
    const tone = state.is === 'ready' ? 'good' : state.is === 'starting' ? 'plain' : 'bad';
    this.#tell({ tone, about: name, what: partWords(state), details: [] });
  }

  #tellChanges(model: StackModel): void {
    const view = viewOf(model);
    if (view === undefined) return;
    const news = happenings(this.#told, view);
    this.#told = told(this.#told, view);
    for (const happening of news) {
      this.#terminal.data({ event: 'change', ...happening });
      this.#tell(happening);
    }
  }

  #tell(happening: Happening): void {
    const time = new Date().toTimeString().slice(0, 8);
    this.#terminal.prose(happeningLine(happening, time, this.#terminal.paint), HANG);
    for (const detail of happening.details) this.#terminal.prose(`${' '.repeat(HANG + 2)}${safe(detail)}`);
  }

  #elapsed(): number {
    return performance.now() - this.#startedAt;
  }
}
