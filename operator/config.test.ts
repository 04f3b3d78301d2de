import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../lib/config.ts';
import { config } from './config.ts';

const cluster = { SOURCE: 'configmaps', INSTALL_NAMESPACE: 'toolyard', REGISTRY_JWT_SEED_SECRET: 'toolyard-registry' };

function faultsOf(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(config, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults.map(({ name }) => name);
    throw error;
  }
}

test('a directory needs a seed file and nothing of a cluster', () => {
  expect(faultsOf({ REGISTRY_JWT_SEED_FILE: 'seed' })).toEqual([]);
  expect(faultsOf({})).toEqual(['REGISTRY_JWT_SEED_FILE']);
  expect(faultsOf({ REGISTRY_JWT_SEED_FILE: 'seed', NAMESPACES: 'a', REGISTRY_JWT_SEED_SECRET: 'b' })).toEqual([
    'REGISTRY_JWT_SEED_SECRET',
    'NAMESPACES',
  ]);
});

test('every fault is told at once, those between settings too', () => {
  expect(faultsOf({ PORT: 'x', GENERATE: '{' })).toEqual(['PORT', 'GENERATE', 'REGISTRY_JWT_SEED_FILE']);
});

test('a cluster needs its namespace and exactly one seed', () => {
  expect(faultsOf(cluster)).toEqual([]);
  expect(faultsOf({ ...cluster, REGISTRY_JWT_SEED_FILE: 'seed' })).toEqual(['REGISTRY_JWT_SEED_SECRET']);
  expect(faultsOf({ SOURCE: 'configmaps' })).toEqual(['REGISTRY_JWT_SEED_SECRET', 'INSTALL_NAMESPACE']);
  expect(faultsOf({ ...cluster, REGISTRY_JWT_SEED_SECRET: '', REGISTRY_JWT_SEED_FILE: 'seed' })).toEqual([]);
});

test('settings of a directory are refused in a cluster', () => {
  expect(faultsOf({ ...cluster, PROBE_AUTH_DIRECTORY: 'x', PUBLISH_ENDPOINT: 'true' })).toEqual([
    'PROBE_AUTH_DIRECTORY',
    'PUBLISH_ENDPOINT',
  ]);
});

test('namespaces and things to generate are read as they are written', () => {
  const certificate = { is: 'certificate', secret: 'toolyard-fetch-tls', hosts: ['fetch.toolyard.svc'] };
  const ca = { is: 'ca', secret: 'toolyard-ca', configMap: 'toolyard-ca' };
  const read = readConfig(config, { ...cluster, NAMESPACES: 'a, b', GENERATE: JSON.stringify([ca, certificate]) });
  expect(read.NAMESPACES).toEqual(['a', 'b']);
  expect(read.GENERATE).toEqual([ca, certificate]);
  expect(faultsOf({ ...cluster, GENERATE: JSON.stringify([certificate]) })).toEqual(['GENERATE']);
  expect(faultsOf({ ...cluster, GENERATE: JSON.stringify([ca, ca]) })).toEqual(['GENERATE']);
  expect(faultsOf({ ...cluster, NAMESPACES: 'Not_A_Name' })).toEqual(['NAMESPACES']);
});

test('claims are looked after in a cluster, in the namespaces that are named', () => {
  const read = readConfig(config, { ...cluster, CLAIMS_NAMESPACES: 'toolyard-sandboxes, team' });
  expect(read.CLAIMS_NAMESPACES).toEqual(['toolyard-sandboxes', 'team']);
  expect([read.CLAIM_MAX_AGE_SECONDS, read.CLAIM_GRACE_SECONDS, read.CLAIMS_MAX]).toEqual([14_400, 60, 0]);
  expect(readConfig(config, cluster).CLAIMS_NAMESPACES).toEqual([]);
  expect(faultsOf({ REGISTRY_JWT_SEED_FILE: 'seed', CLAIMS_NAMESPACES: 'a' })).toEqual(['CLAIMS_NAMESPACES']);
  expect(faultsOf({ ...cluster, CLAIM_MAX_AGE_SECONDS: '0', CLAIM_GRACE_SECONDS: '1.5', CLAIMS_MAX: '-1' })).toEqual([
    'CLAIM_MAX_AGE_SECONDS',
    'CLAIM_GRACE_SECONDS',
    'CLAIMS_MAX',
  ]);
});
