import LFSBackup
import Synchronization

/// The originals of one walk that could not be taken, for one who tries them again. Owner of the state: the mutex.
final class FailedOriginals: Sendable {
    /// One that failed.
    struct Failed: Sendable {
        let name: AssetName
        /// What it looked like before it was read; nil when nobody has looked.
        let stamp: AssetStamp?
        let reason: String
    }

    private struct State {
        var stamps: [AssetName: AssetStamp] = [:]
        var failed: [Failed] = []
    }

    private let state = Mutex(State())

    var all: [Failed] { state.withLock { $0.failed } }

    /// - Returns: whether it is that of a failure, which nobody else has to tell.
    func take(_ event: BackupEvent) -> Bool {
        state.withLock { state in
            switch event {
            case .found(let asset): state.stamps[asset.id] = asset.stamp
            case .attached(let asset, _, _), .restored(let asset, _): state.stamps[asset.id] = nil
            case .failed(let name, let reason):
                state.failed.append(Failed(name: name, stamp: state.stamps.removeValue(forKey: name), reason: reason))
                return true
            default: break
            }
            return false
        }
    }
}
