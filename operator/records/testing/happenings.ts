import * as fc from 'fast-check';
import { OFFICIAL_META, type ServerJson } from '../../../lib/registry-api/server-json.ts';
import { publishedRecord, type PublishedRecord, type Stamp } from '../record.ts';
import { SimulatedRegistry, type Deed, type Mishap } from './registry.ts';
import { raw, serverJson, SimulatedInstall } from './world.ts';

export const names = ['com.example/one', 'com.example/two'] as const;
const versions = ['1.0.0', '1.1.0', '2.0.0'] as const;
const sources = ['a/x', 'a/y', 'b/x', 'b/y'] as const;
const servers = ['main', 'spare'] as const;
const descriptions = ['a server', 'a better server'] as const;

/** What can happen in a world of two installs, one registry and a stranger. */
export type Happening =
  | { is: 'declare'; who: 0 | 1; source: string; name: string; version: string; at: string; description: string }
  | { is: 'remove' | 'break'; who: 0 | 1; source: string }
  | { is: 'server'; at: string; up: boolean }
  | { is: 'partial'; who: 0 | 1; on: boolean }
  | { is: 'restart'; who: 0 | 1 }
  | { is: 'mishaps'; mishaps: Mishap[] }
  | { is: 'down'; on: boolean }
  | { is: 'emptied' }
  | { is: 'obscured'; version: string; how: 'named' | 'nameless' | undefined }
  | { is: 'stranger'; name: string; version: string }
  | { is: 'pass'; ms: number };

const who = fc.constantFrom<0 | 1>(0, 1);
const source = fc.constantFrom(...sources);
/** mostly the first: conflicts are what can go wrong */
const name = fc.oneof({ weight: 4, arbitrary: fc.constant(names[0]) }, { weight: 1, arbitrary: fc.constant(names[1]) });
const version = fc.constantFrom(...versions);
const at = fc.constantFrom(...servers);
const on = fc.boolean();

function kind<K extends Happening['is']>(is: K): fc.Arbitrary<K> {
  return fc.constant(is);
}

export const mishaps = fc.array(fc.constantFrom<Mishap>('unreachable', 'answer-lost', 'refused'), { maxLength: 4 });

export const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ is: kind('declare'), who, source, name, version, at, description: fc.constantFrom(...descriptions) }),
  },
  { weight: 2, arbitrary: fc.record({ is: kind('remove'), who, source }) },
  { weight: 1, arbitrary: fc.record({ is: kind('break'), who, source }) },
  { weight: 2, arbitrary: fc.record({ is: kind('server'), at, up: on }) },
  { weight: 1, arbitrary: fc.record({ is: kind('partial'), who, on }) },
  { weight: 1, arbitrary: fc.record({ is: kind('restart'), who }) },
  { weight: 2, arbitrary: fc.record({ is: kind('mishaps'), mishaps }) },
  { weight: 1, arbitrary: fc.record({ is: kind('down'), on }) },
  { weight: 1, arbitrary: fc.record({ is: kind('emptied') }) },
  {
    weight: 2,
    arbitrary: fc.record({ is: kind('obscured'), version, how: fc.constantFrom('named' as const, 'nameless' as const, undefined) }),
  },
  { weight: 1, arbitrary: fc.record({ is: kind('stranger'), name, version }) },
  { weight: 5, arbitrary: fc.record({ is: kind('pass'), ms: fc.constantFrom(1_000, 10_000, 31_000) }) },
);

type Misfortune = Extract<Happening, { is: 'server' | 'partial' | 'mishaps' | 'down' | 'emptied' | 'obscured' | 'stranger' }>;

const anyMeta = { status: 'active', statusChangedAt: '', publishedAt: '', updatedAt: '', isLatest: true } as const;

/** Two installs on one registry, and a stranger who publishes there by hand. */
export class TwoInstalls {
  readonly registry = new SimulatedRegistry();
  readonly installs = [new SimulatedInstall('one', this.registry), new SimulatedInstall('two', this.registry)] as const;
  /** single writes that should never have been */
  readonly wrongs: string[] = [];
  #created = 0;

  constructor() {
    this.registry.onWrite = (deed) => this.#judge(deed);
  }

  async happen(event: Happening): Promise<void> {
    switch (event.is) {
      case 'declare':
        return this.#declare(event);
      case 'remove':
        this.installs[event.who].declared.delete(event.source);
        return this.installs[event.who].observe();
      case 'break':
        return this.#break(this.installs[event.who], event.source);
      case 'restart':
        await this.installs[event.who].restart();
        return this.installs[event.who].observe();
      case 'pass':
        return this.#pass(event.ms);
      default:
        return this.#befall(event);
    }
  }

  /** All faults end, and time passes until nobody writes any more. @throws Error when it never comes to rest */
  async heal(): Promise<void> {
    this.registry.mishaps = [];
    this.registry.down = false;
    this.registry.obscured.clear();
    for (const install of this.installs) {
      install.incomplete = false;
      await install.observe();
    }
    let quiet = 0;
    for (let round = 0; quiet < 4; round += 1) {
      if (round > 60) throw new Error('it never comes to rest');
      const before = this.registry.deeds.length;
      await this.#pass(31_000);
      quiet = this.registry.deeds.length === before ? quiet + 1 : 0;
    }
  }

  records(): readonly PublishedRecord[] {
    return this.registry.all().flatMap((record) => publishedRecord(record) ?? []);
  }

  async #declare({ who, source, name, version, at, description }: Extract<Happening, { is: 'declare' }>): Promise<void> {
    const install = this.installs[who];
    const createdAt = install.declared.get(source)?.createdAt ?? (this.#created += 1);
    install.declared.set(source, raw(source, serverJson(name, version, { at, description }), {}, createdAt));
    await install.observe();
  }

  async #break(install: SimulatedInstall, source: string): Promise<void> {
    const whole = install.declared.get(source);
    if (whole === undefined) return;
    install.declared.set(source, { ...whole, document: { unusable: 'InvalidJson', message: 'it is not JSON' } });
    await install.observe();
  }

  async #pass(ms: number): Promise<void> {
    for (const install of this.installs) await install.pass(ms);
  }

  async #befall(event: Misfortune): Promise<void> {
    switch (event.is) {
      case 'server':
        for (const { up } of this.installs) {
          if (event.up) up.add(event.at);
          else up.delete(event.at);
        }
        return;
      case 'partial':
        this.installs[event.who].incomplete = event.on;
        return this.installs[event.who].observe();
      case 'mishaps':
        this.registry.mishaps = event.mishaps;
        return;
      case 'down':
        this.registry.down = event.on;
        return;
      case 'obscured':
        if (event.how === undefined) this.registry.obscured.delete(event.version);
        else this.registry.obscured.set(event.version, event.how);
        return;
      case 'emptied':
        return this.registry.empty();
      default:
        return this.#strangerPublishes(serverJson(event.name, event.version, { description: 'not yours' }));
    }
  }

  async #strangerPublishes(document: ServerJson): Promise<void> {
    await this.registry
      .port('stranger')
      .publish(document)
      .catch(() => {});
  }

  /** Servers may be followed while a record of their name cannot be read; nothing else may be done then. */
  #isBlind(did: Deed['did'], name: string): boolean {
    return did !== 'active' && did !== 'deprecated' && this.registry.hides(name);
  }

  /** What must hold of each single write, whatever the others do. */
  #judge({ by, did, name, version, before }: Deed): void {
    const install = this.installs.find((candidate) => candidate.install === by);
    if (install === undefined) return;
    if (this.#isBlind(did, name)) this.wrongs.push(`${by} did ${did} to ${name} ${version}, of which a part cannot be read`);
    if (before === undefined) return;
    const { install: owner, source = '' } = stampIn(before) ?? {};
    if (did === 'publish') {
      // others may publish between a look and a write, but what it published itself an install knows
      if (owner === by) this.wrongs.push(`${by} published ${name} ${version} twice`);
      return;
    }
    this.#judgeChange(install, { did, record: `${name} ${version}`, owner, source });
  }

  #judgeChange(
    install: SimulatedInstall,
    { did, record, owner, source }: { did: Deed['did']; record: string; owner: string | undefined; source: string },
  ): void {
    const by = install.install;
    if (owner !== by) this.wrongs.push(`${by} did ${did} to ${record}, which is not its own`);
    const unclear = did === 'deleted' ? whyUnclear(install, source) : undefined;
    if (unclear !== undefined) this.wrongs.push(`${by} withdrew ${record} ${unclear}`);
  }
}

function stampIn(server: ServerJson): Stamp | undefined {
  return publishedRecord({ server, _meta: { [OFFICIAL_META]: anyMeta } })?.stamp;
}

function whyUnclear({ incomplete, declared }: SimulatedInstall, source: string): string | undefined {
  if (incomplete) return 'on a partial view';
  const document = declared.get(source)?.document;
  return document !== undefined && 'unusable' in document ? 'while its file is broken' : undefined;
}
