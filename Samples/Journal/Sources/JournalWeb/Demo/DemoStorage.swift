public import LFSStorage
public import LFSTesting
import Synchronization

/// A storage for demonstrations, whose faults a page switches on and off.
///
/// The faults are those of LFSTesting. LFS does not know of the switches: it sees only the replies of the storage.
public final class DemoStorage: StorageWrapper {
    /// A fault that can be switched.
    public enum Fault: String, CaseIterable, Hashable, Sendable {
        /// The storage does not answer.
        case away
        /// Each upload and each download takes four seconds longer.
        case slow
        /// The storage refuses all uploads, because it is full.
        case full
    }

    private let working: any RemoteStorage
    private let faults = Mutex<Set<Fault>>([])

    /// Wraps a storage. All faults are off.
    public init(_ storage: any RemoteStorage) { working = storage }

    /// The faults that are on.
    public var active: Set<Fault> { faults.withLock { $0 } }

    /// Switches a fault.
    public func set(_ fault: Fault, isOn: Bool) {
        faults.withLock { faults in
            if isOn { faults.insert(fault) } else { faults.remove(fault) }
        }
    }

    /// The storage with the faults that are on now.
    public var base: any RemoteStorage {
        let active = active
        var storage = working
        if active.contains(.full) {
            storage = FailingStorage(
                storage, on: [.upload], times: .max,
                with: StorageError(.noSpace, message: "The storage is full."))
        }
        if active.contains(.slow) {
            storage = SlowStorage(
                storage, on: [.upload, .download], delay: .seconds(4), clock: ContinuousClock())
        }
        if active.contains(.away) { storage = UnreachableStorage(storage) }
        return storage
    }
}
