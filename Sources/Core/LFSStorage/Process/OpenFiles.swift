import LFSSystem

/// The limit on files and connections that this process may have open.
public enum OpenFiles {
    /// Raises the limit as far as possible without special permissions, at most to 65,536.
    ///
    /// Programs should call this early. A limit applies to the whole process, so a library must not change it. macOS
    /// starts every process with 256, which is low for a program that backs up files. LFS respects any limit: it opens
    /// only as many files at once as fit, and waits for one to be closed if the limit is reached.
    ///
    /// Source: getrlimit(2), `RLIMIT_NOFILE`.
    public static func raiseLimit() { OpenFileLimit.raise() }
}
