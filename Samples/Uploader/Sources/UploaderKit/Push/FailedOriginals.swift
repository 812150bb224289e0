import LFSBackup
import Synchronization

/// The originals of one walk that could not be attached, for another attempt. The mutex owns the state.
final class FailedOriginals: Sendable {
    /// An original that failed.
    struct Failed: Sendable {
        let name: AssetName
        /// The stamp before the read. Nil if it is unknown.
        let stamp: AssetVersion?
        let reason: String
    }

    private struct State {
        var stamps: [AssetName: AssetVersion] = [:]
        var failed: [Failed] = []
    }

    private let state = Mutex(State())

    var all: [Failed] { state.withLock { $0.failed } }

    /// - Returns: true if the event is a failure, which needs no other report.
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
