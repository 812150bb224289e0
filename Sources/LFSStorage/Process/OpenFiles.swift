import LFSSystem

/// The files and connections that the system lets this process have open.
public enum OpenFiles {
    /// Raises the limit as far as the system allows without rights, at most to 65,536.
    ///
    /// For programs, as one of the first things that they do: a limit holds for the whole process, so no library may
    /// change it. macOS starts every process with 256, which is little for a program that backs up files. With any
    /// limit LFS opens no more files at once than fit, and waits for one to be closed where none is left.
    ///
    /// Source: getrlimit(2), `RLIMIT_NOFILE`.
    public static func raiseLimit() { OpenFileLimit.raise() }
}
