#if os(Linux)
import CSecret
import LFSSettings
import LFSSystem
import Synchronization

/// The thread that runs all functions of libsecret, with its own GLib main loop.
///
/// libsecret is asynchronous internally. Its blocking functions occupy a thread until the service answers, forever if
/// it does not, and miss bus messages between two calls. With this loop no thread waits for a service. The thread
/// starts with the first call and keeps running, as GLib's own bus thread does.
enum SecretLoop {
    /// Loads libsecret and starts the thread, once.
    ///
    /// - Throws: ``SettingsError/Code/keychainUnavailable`` if libsecret is missing, ``SettingsError/Code/system`` if
    ///   the thread cannot be started.
    static func load() throws(SettingsError) {
        if let problem = lfs_secret_load() { throw SecretFailure.noLibrary(String(cString: problem)) }
        do throws(SystemError) {
            try isRunning.withLock { isRunning throws(SystemError) in
                if isRunning { return }
                let address = address
                try SystemThread.start("lfs-secrets") { lfs_secret_run(UnsafeMutableRawPointer(bitPattern: address)) }
                isRunning = true
            }
        } catch {
            throw SecretFailure.noThread(error)
        }
    }

    /// Schedules work on the thread. The work must not block. Call ``load()`` first.
    static func run(_ work: @escaping @Sendable () -> Void) {
        lfs_secret_enqueue(
            UnsafeMutableRawPointer(bitPattern: address),
            { Unmanaged<Job>.fromOpaque($0!).takeRetainedValue().body() },
            Unmanaged.passRetained(Job(work)).toOpaque())
    }

    private final class Job: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// The main context. It is stored as an integer, because Swift does not allow sharing a pointer between threads.
    private static let address = Int(bitPattern: lfs_secret_context())
    private static let isRunning = Mutex(false)
}

/// A reference to a GLib object, which is released on the thread of ``SecretLoop``.
final class ObjectReference: Sendable {
    private let address: Int

    /// Takes ownership of a reference.
    init(_ object: UnsafeMutableRawPointer) { address = Int(bitPattern: object) }

    deinit {
        let address = address
        SecretLoop.run { lfs_secret_unref(UnsafeMutableRawPointer(bitPattern: address)) }
    }

    /// The pointer, for use on the thread of ``SecretLoop`` while this object exists.
    var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: address)! }
}
#endif
