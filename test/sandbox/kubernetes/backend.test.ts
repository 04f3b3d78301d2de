import { afterAll } from 'vitest';
import { sandboxBackendSuite, suiteLimits } from '../suite.ts';
import { describeWithPods } from './pods.ts';
import { World } from './world.ts';

describeWithPods('the kubernetes backend with sandboxd', () => {
  let world: World;
  afterAll(() => world.close());
  const { memoryBytes, diskBytes, cpus } = suiteLimits;
  sandboxBackendSuite(
    async () => {
      world = await World.start();
      return world.replica();
    },
    { isolated: false, files: 'workspace', limits: { memoryBytes, diskBytes, cpus } },
  );
});
