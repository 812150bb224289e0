import LFSSystem

/// What the system writes of this process's memory into a file when the process crashes.
public enum CoreDumps {
    /// Keeps keys and tokens of storages, which are in memory and in the environment, out of core dumps.
    ///
    /// For programs with secrets of storages, as the first thing that they do. It holds until the process ends. On
    /// Linux no other process of the same user may read the memory or the environment from then on either, and no
    /// debugger attaches but the administrator's: prctl(2), `PR_SET_DUMPABLE`. Elsewhere core files are limited to zero
    /// bytes: setrlimit(2).
    public static func disable() { CoreDump.disable() }
}
