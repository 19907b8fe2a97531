"""Speech from an Antiphon server: `aio.AsyncClient` for asyncio, `sync.Client` for everything else."""
