import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';

/** One layer of an image: files that a function writes into an empty directory. */
export interface Layer {
  readonly name: string;
  /** of everything that its files come from: the same key means the same files */
  readonly key: string;
  readonly write: (root: string) => Promise<void>;
}

export interface Image {
  /** as in a Pod: docker.io/library/busybox:1 */
  readonly name: string;
  readonly layers: readonly Layer[];
  readonly entrypoint?: readonly string[];
  readonly env?: readonly string[];
  /** uid:gid */
  readonly user?: string;
  readonly workingDir?: string;
}

interface Blob {
  readonly digest: string;
  readonly size: number;
}

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const OCI = 'application/vnd.oci.image';

/**
 * Makes a directory one OCI layout of these images. Layers that are in it already under their keys are kept, blobs that no image needs any
 * more are removed. Source of the form: the image layout of the Open Container Initiative, 1.1.
 * @returns names of the layers that had to be made
 */
export async function writeLayout(directory: string, images: readonly Image[]): Promise<readonly string[]> {
  const blobs = join(directory, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  const layers = new LayerStore(directory);
  const manifests = [];
  for (const image of images) manifests.push(await manifest(image, layers, blobs));
  await writeFile(join(directory, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  await writeFile(join(directory, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: manifests.map(({ entry }) => entry) }));
  await layers.save();
  const needed = new Set(manifests.flatMap(({ needs }) => needs));
  for (const blob of await readdir(blobs)) if (!needed.has(`sha256:${blob}`)) await rm(join(blobs, blob));
  return layers.made;
}

async function manifest(image: Image, layers: LayerStore, blobs: string) {
  const own: Blob[] = [];
  for (const layer of image.layers) own.push(await layers.blob(layer));
  const config = await put(blobs, {
    architecture: arch() === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Entrypoint: image.entrypoint, Env: [PATH, ...(image.env ?? [])], User: image.user, WorkingDir: image.workingDir },
    rootfs: { type: 'layers', diff_ids: own.map(({ digest }) => digest) },
  });
  const itself = await put(blobs, {
    schemaVersion: 2,
    mediaType: `${OCI}.manifest.v1+json`,
    config: { mediaType: `${OCI}.config.v1+json`, ...config },
    layers: own.map((blob) => ({ mediaType: `${OCI}.layer.v1.tar`, ...blob })),
  });
  const entry = { mediaType: `${OCI}.manifest.v1+json`, ...itself, annotations: { 'io.containerd.image.name': image.name } };
  return { entry, needs: [itself, config, ...own].map(({ digest }) => digest) };
}

async function put(blobs: string, document: unknown): Promise<Blob> {
  const text = JSON.stringify(document);
  const hex = createHash('sha256').update(text).digest('hex');
  await writeFile(join(blobs, hex), text);
  return { digest: `sha256:${hex}`, size: Buffer.byteLength(text) };
}

/** Remembers which blob a layer became. */
class LayerStore {
  readonly made: string[] = [];
  readonly #directory: string;
  readonly #used: Record<string, Blob> = {};
  #known: Record<string, Blob> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async blob(layer: Layer): Promise<Blob> {
    this.#known ??= await readFile(this.#index, 'utf8').then(
      (text) => JSON.parse(text) as Record<string, Blob>,
      () => ({}),
    );
    const key = `${layer.name} ${layer.key}`;
    const known = this.#used[key] ?? this.#known[key];
    const blob = known !== undefined && (await this.#has(known)) ? known : await this.#make(layer);
    this.#used[key] = blob;
    return blob;
  }

  save(): Promise<void> {
    return writeFile(this.#index, JSON.stringify(this.#used, null, 2));
  }

  get #index(): string {
    return join(this.#directory, 'layers.json');
  }

  #path({ digest }: Blob): string {
    return join(this.#directory, 'blobs', digest.replace(':', '/'));
  }

  async #has(blob: Blob): Promise<boolean> {
    return (await stat(this.#path(blob)).catch(() => undefined))?.size === blob.size;
  }

  async #make(layer: Layer): Promise<Blob> {
    const work = await mkdtemp(join(this.#directory, 'layer-'));
    try {
      const root = join(work, 'root');
      await mkdir(root);
      await layer.write(root);
      const tar = join(work, 'layer.tar');
      await run('tar', ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '-C', root, '-cf', tar, '.']);
      const blob = { digest: `sha256:${await sha256(tar)}`, size: (await stat(tar)).size };
      await rename(tar, this.#path(blob));
      this.made.push(layer.name);
      return blob;
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
