/// A storage whose engine has a thread that may run the tasks of small uploads.
package protocol ThreadedStorage: RemoteStorage {
    /// The engine's thread. Its tasks must not block. nil without such a thread.
    var executor: (any TaskExecutor)? { get }
}
