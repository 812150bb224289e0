#if os(Linux)
import CSecret
import LFSSettings
import LFSSystem
import Synchronization

/// The thread on which all of libsecret runs: a main loop of GLib of its own.
///
/// Calls of libsecret are asynchronous below, and their blocking forms keep a thread until a service answers, for ever
/// if it does not, and miss what the bus says between two calls. Here no thread waits for a service. The thread starts
/// with the first call and stays, as GLib's own thread for the bus does.
enum SecretLoop {
    /// Loads libsecret and starts the thread, once.
    ///
    /// - Throws: ``SettingsError/Code/keychainUnavailable`` where there is no libsecret, ``SettingsError/Code/system``
    ///   where there is no thread.
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

    /// Does the work on the thread, soon. It must not block. After ``load()`` only.
    static func run(_ work: @escaping @Sendable () -> Void) {
        lfs_secret_enqueue(
            UnsafeMutableRawPointer(bitPattern: address),
            { Unmanaged<Work>.fromOpaque($0!).takeRetainedValue().body() },
            Unmanaged.passRetained(Work(work)).toOpaque())
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// The main context. A pointer cannot be shared between threads in Swift's eyes.
    private static let address = Int(bitPattern: lfs_secret_context())
    private static let isRunning = Mutex(false)
}

/// A reference to an object of GLib, which is given back on the thread of ``SecretLoop``.
final class ObjectReference: Sendable {
    private let address: Int

    /// Takes over a reference.
    init(_ object: UnsafeMutableRawPointer) { address = Int(bitPattern: object) }

    deinit {
        let address = address
        SecretLoop.run { lfs_secret_unref(UnsafeMutableRawPointer(bitPattern: address)) }
    }

    /// For use on the thread of ``SecretLoop``, while this object lives.
    var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: address)! }
}
#endif
