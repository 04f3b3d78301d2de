"""Makes a sandbox with agent-sandbox's own client, which gives its claim a lifetime, and prints the claim's name. The claim stays."""

import sys

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxdInClusterConnectionConfig

namespace, pool, seconds = sys.argv[1:]
client = SandboxClient(connection_config=SandboxdInClusterConnectionConfig(mode="in-cluster-pod-ip"))
sandbox = client.create_sandbox(warmpool=pool, namespace=namespace, shutdown_after_seconds=int(seconds))
print(sandbox.claim_name)
