import Dispatch
import LFSSystem
import Synchronization

/// Watches folders that walks enter, and tells what happens in them. It takes no processor time while nothing does.
///
/// Owner of the state: the mutex. The system is never called under it.
final class FolderWatch: Sendable {
    private struct State {
        var folders = WatchedFolders()
        var rest: [UInt8] = []
        var shortage: SystemError?
    }

    private let queue: Inotify
    private let state = Mutex(State())
    /// Reads as soon as there is something, and holds the queue until it is cancelled, which any thread may do.
    nonisolated(unsafe) private let reading: any DispatchSourceRead
    private let tell: @Sendable ([FolderChange]) -> Void

    /// - Parameter tell: what has happened; called on a thread of the system, one call after the other.
    /// - Throws: what the system says when it has no such queue to give.
    init(_ tell: @escaping @Sendable ([FolderChange]) -> Void) throws(SystemError) {
        let queue = try Inotify()
        (self.queue, self.tell) = (queue, tell)
        reading = DispatchSource.makeReadSource(
            fileDescriptor: queue.number, queue: DispatchQueue(label: "lfs-watch"))
        reading.setEventHandler { [weak self] in self?.drain() }
        reading.setCancelHandler { withExtendedLifetime(queue) {} }
        reading.activate()
    }

    deinit { reading.cancel() }

    /// How many folders are watched.
    var count: Int { state.withLock { $0.folders.count } }
    /// Why some of the folders are not watched; nil when all are.
    var shortage: SystemError? { state.withLock { $0.shortage } }

    /// Watches a folder from now on. Called before its names are read, so that none is missed between.
    func enter(_ path: AssetName, isRoot: Bool) { watch(path, .all, isRoot: isRoot) }

    /// Watches a file that was named itself, by the folder that it is in: most programs put a new file in its place.
    func enter(file path: AssetName) {
        guard let name = path.components.last else { return }
        let folder = AssetName(bytes: Array(path.bytes.dropLast(name.count + 1)))
        watch(folder.bytes.isEmpty ? AssetName("/") : folder, .only([name]), isRoot: true)
    }

    private func watch(_ path: AssetName, _ names: WatchedFolders.Names, isRoot: Bool) {
        do {
            let folder = try queue.add(path, followsLink: isRoot)
            state.withLock { $0.folders.add(folder, at: path, names, isRoot: isRoot) }
        } catch let error where error.isNoSpace || error.isShortage {
            state.withLock { $0.shortage = error }
        } catch {
            // It is gone again, or may not be read: the walk says so.
        }
    }

    /// Reads what fits into one buffer. Where there is more the source calls again: a flood is told as it comes.
    private func drain() {
        do {
            let changes = take(try queue.read())
            if !changes.isEmpty { tell(changes) }
        } catch {
            // What has happened meanwhile cannot be told any more.
            reading.cancel()
            state.withLock { $0.shortage = error }
            tell([.lost])
        }
    }

    private func take(_ bytes: [UInt8]) -> [FolderChange] {
        let (changes, left) = state.withLock { state -> ([FolderChange], [Int32]) in
            state.rest += bytes
            var (changes, left): ([FolderChange], [Int32]) = ([], [])
            for event in InotifyEvent.take(from: &state.rest) {
                for change in state.folders.changes(of: event) {
                    switch change {
                    // Their watches would tell of files by paths that these have no more.
                    case .left(let path), .gone(let path): left += state.folders.leave(path)
                    default: break
                    }
                    changes.append(change)
                }
            }
            return (changes, left)
        }
        for folder in left { queue.remove(folder) }
        return changes
    }
}
