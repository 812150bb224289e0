import LFSSystem

/// The threads that this process may create.
public enum Threads {
    /// Creates two threads and ends them.
    ///
    /// Programs should call this early. Without any thread, Swift's tasks never run, so a program would hang without a
    /// message.
    ///
    /// - Throws: ``StorageError`` with the code ``StorageError/Code/misconfigured`` if the user, the container or the
    ///   system has too many threads.
    public static func check() throws(StorageError) {
        do throws(SystemError) {
            try SystemThread.check(count: 2)
        } catch {
            throw StorageError(
                .misconfigured,
                message: """
                    The system creates no threads for this process (\(error.reason)). Raise the limit on processes of \
                    this user (ulimit -u) or of its container.
                    """,
                cause: error)
        }
    }
}
