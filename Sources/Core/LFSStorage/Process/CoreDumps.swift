import LFSSystem

/// The core dumps of this process: files to which the system writes its memory after a crash.
public enum CoreDumps {
    /// Keeps the keys and tokens of storages, which are in memory and in the environment, out of core dumps.
    ///
    /// Programs with such secrets should call this first. It takes effect until the process ends. On Linux, other
    /// processes of the same user then cannot read the memory or the environment either, and only the administrator can
    /// attach a debugger: prctl(2), `PR_SET_DUMPABLE`. On other systems core files are limited to zero bytes:
    /// setrlimit(2).
    public static func disable() { CoreDump.disable() }
}
