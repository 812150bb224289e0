import Dispatch
import LFSSystem
import Synchronization

/// A watch on the folders that walks enter. It reports their changes and uses no processor time without changes.
///
/// The mutex owns the state. It is never held during a system call.
final class FolderWatch: Sendable {
    private struct State {
        var folders = WatchedFolders()
        var rest: [UInt8] = []
        var shortage: SystemError?
    }

    private let queue: Inotify
    private let state = Mutex(State())
    /// Reads events as soon as they arrive, and retains the queue until it is cancelled. Any thread may cancel it.
    nonisolated(unsafe) private let reading: any DispatchSourceRead
    private let tell: @Sendable ([FolderChange]) -> Void

    /// - Parameter tell: receives the changes on a system thread, one call at a time.
    /// - Throws: the system's error if it cannot create a queue.
    init(_ tell: @escaping @Sendable ([FolderChange]) -> Void) throws(SystemError) {
        let queue = try Inotify()
        self.queue = queue
        self.tell = tell
        reading = DispatchSource.makeReadSource(
            fileDescriptor: queue.number, queue: DispatchQueue(label: "lfs-watch"))
        reading.setEventHandler { [weak self] in self?.drain() }
        reading.setCancelHandler { withExtendedLifetime(queue) {} }
        reading.activate()
    }

    deinit { reading.cancel() }

    /// The number of watched folders.
    var count: Int { state.withLock { $0.folders.count } }
    /// The reason why some folders are not watched. Nil if all are.
    var shortage: SystemError? { state.withLock { $0.shortage } }

    /// Watches a folder from now on. Call this before the names in it are read, so that no change is missed in between.
    func enter(_ path: AssetName, isRoot: Bool) { watch(path, names: .all, isRoot: isRoot) }

    /// Watches a selected file through its folder, because most programs replace a file by a new one.
    func enter(file path: AssetName) {
        guard let name = path.components.last else { return }
        let folder = AssetName(bytes: Array(path.bytes.dropLast(name.count + 1)))
        watch(folder.bytes.isEmpty ? AssetName("/") : folder, names: .only([name]), isRoot: true)
    }

    private func watch(_ path: AssetName, names: WatchedFolders.Names, isRoot: Bool) {
        do {
            let folder = try queue.add(path, followsLink: isRoot)
            state.withLock { $0.folders.add(folder, at: path, names: names, isRoot: isRoot) }
        } catch let error where error.isNoSpace || error.isShortage {
            state.withLock { $0.shortage = error }
        } catch {
            // The folder no longer exists or may not be read. The walk reports this.
        }
    }

    /// Reads one buffer of events. If there are more, the source calls again, so a burst is reported as it arrives.
    private func drain() {
        do {
            let changes = take(try queue.read())
            if !changes.isEmpty { tell(changes) }
        } catch {
            // Changes since the last read are lost.
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
                    // The watches below this folder would report files by outdated paths.
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
