import LFSSystem
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A follower that returns the changed files of folders for backup, as soon as they have settled. Changes are detected
/// only on Linux. Other systems walk the folders periodically.
///
/// ```swift
/// let follower = FolderFollower(FolderSource([BackupGroup("/home/ada/Pictures", .include)]))
/// while true {
///     let batch = try await follower.next()
///     try await Backup(lfs, database, batch.source, host).run()
/// }
/// ```
///
/// A file has settled when the writing process has closed it or it was moved to its path, and it has not changed for
/// ``FollowOptions/settle``. Files that are deleted before they settle are ignored, and deletions are not reported.
/// While nothing changes, the follower only checks the selected paths each minute.
///
/// - Linux does not report changes by another machine in a network folder, writes through a memory mapping, or the
///   first name of a file that was created without one. ``FollowOptions/rescan`` detects them.
/// - Only one task may call ``next()`` at a time.
public final class FolderFollower: Sendable {
    private struct State {
        var watch: FolderWatch?
        var settling: ChangeDebouncer
        /// New folders that are not watched yet.
        var arrived: Set<AssetName> = []
        /// The selected paths that do not exist.
        var gone: Set<AssetName> = []
        /// The identities of the selected paths at the last full walk, and the time of the last check of them.
        var identities: [AssetName: FileIdentity] = [:]
        var lastRootCheck: Duration?
        /// Selected folders that are empty, such as mount points. The system does not report a mount.
        var emptyRoots: Set<AssetName> = []
        /// True if a file has failed since the last full walk. The reason may pass, and no system reports that.
        var hasFailures = false
        /// The time when events were lost.
        var lostAt: Duration?
        var lastWalk: Duration?
        var isWalking = false
        /// The reason why the system reports no changes, or not those of all folders.
        var shortage: SystemError?
    }

    private let source: FolderSource
    private let options: FollowOptions
    private let tellNote: @Sendable (FollowNote) -> Void
    private let elapsed: @Sendable () -> Duration
    private let changed = Signal()
    private let state: Mutex<State>

    /// Creates a follower. It starts with the first call of ``next()``.
    ///
    /// - Parameters:
    ///   - source: the folders and files.
    ///   - options: the settling time, and the interval of full walks.
    ///   - onNote: receives messages for people, on any thread.
    public init(
        _ source: FolderSource, options: FollowOptions = FollowOptions(),
        onNote: @escaping @Sendable (FollowNote) -> Void = { _ in }
    ) {
        self.source = source
        self.options = options
        tellNote = onNote
        elapsed = options.clock.stopwatch()
        state = Mutex(State(settling: ChangeDebouncer(options.settle)))
    }

    /// The number of folders that are watched now.
    public var folderCount: Int { state.withLock { $0.watch }?.count ?? 0 }

    /// True if at least one of the selected paths existed at the last full walk.
    public var hasRoots: Bool { state.withLock { $0.gone.count } < source.roots.count }

    /// Waits for the next batch. The first batch contains everything, and a walk through its source starts the
    /// watching.
    ///
    /// - Throws: ``BackupError/Code/groupAbsent``, and `CancellationError`.
    public func next() async throws -> FollowBatch {
        noteWalk()
        while true {
            try Task.checkCancellation()
            try await checkRoots()
            if let batch = try await walk() { return batch }
            let arrived = state.withLock { state in
                defer { state.arrived = [] }
                return state.arrived
            }
            if !arrived.isEmpty {
                try await enter(arrived)
                continue
            }
            let settled = state.withLock { $0.settling.take(at: elapsed()) }
            if settled.isEmpty {
                await wait()
                continue
            }
            let names = try await stillSettled(settled)
            if !names.isEmpty { return FollowBatch(source: source.only(names), count: names.count) }
        }
    }

    /// Queues a file for a later batch, because it changed while it was read.
    ///
    /// - Returns: false if it has not changed since it was in a batch, so that it would fail again now. The next full
    ///   walk returns it. See ``noteFailures()``.
    @discardableResult
    public func putBack(_ name: AssetName, seen stamp: AssetVersion?) async throws -> Bool {
        let now = try await BlockingPool.shared.run { _ in Self.look(name) }
        guard let now, now.stamp != stamp?.text else {
            if now != nil { noteFailures() }
            return false
        }
        note([(name, now.stamp)])
        return true
    }

    /// Records that files of a batch have failed. They are in the next full walk, which begins after
    /// ``FollowOptions/usualRescan`` at the latest.
    public func noteFailures() { state.withLock { $0.hasFailures = true } }

    // MARK: Full walks

    /// Returns the batch of a full walk, if one is due.
    private func walk() async throws -> FollowBatch? {
        let now = elapsed()
        let isFirst = state.withLock { $0.lastWalk == nil }
        guard isFirst || state.withLock({ walkTime($0) }).map({ $0 <= now }) == true else { return nil }
        let (roots, identities, emptyRoots) = try await BlockingPool.shared.run { [source] _ in
            let identities = Self.identities(of: source.roots)
            return (
                source.roots, identities, identities.keys.filter { FolderWalk.names(in: $0)?.isEmpty == true }
            )
        }
        let there = roots.filter { identities[$0] != nil }
        var watch = state.withLock { $0.lostAt == nil && $0.shortage == nil ? $0.watch : nil }
        var shortage: SystemError?
        if watch == nil {
            do { watch = try FolderWatch { [weak self] in self?.take($0) } } catch { shortage = error }
        }
        let (new, problem) = (watch, shortage)
        state.withLock { state in
            state.watch = new
            state.shortage = problem
            state.lostAt = nil
            state.lastWalk = now
            state.gone = Set(roots).subtracting(there)
            state.emptyRoots = Set(emptyRoots)
            state.hasFailures = false
            state.identities = identities
            state.lastRootCheck = now
            state.isWalking = true
        }
        // The first walk reports missing roots. Later walks skip them, because they were reported before.
        var whole = isFirst ? source : source.only(there)
        if let new { whole = whole.watched(by: new) }
        return FollowBatch(source: whole, count: nil)
    }

    /// Checks whether the selected paths lead to other folders than before. No system reports a changed link above a
    /// watched folder, or a disk that is mounted over it.
    private func checkRoots() async throws {
        let now = elapsed()
        guard let due = state.withLock({ rootCheckTime($0) }), due <= now else { return }
        let found = try await BlockingPool.shared.run { [source] _ in Self.identities(of: source.roots) }
        let replaced = state.withLock { state in
            state.lastRootCheck = now
            let replaced = state.identities.filter { name, identity in found[name].map { $0 != identity } ?? false }
            if !replaced.isEmpty { state.lostAt = now }
            for name in replaced.keys { state.identities[name] = found[name] }
            return replaced.keys.sorted { $0.description < $1.description }
        }
        for name in replaced { tellNote(.replaced(name)) }
    }

    private static func identities(of roots: [AssetName]) -> [AssetName: FileIdentity] {
        Dictionary(
            roots.compactMap { root in FileIdentity(at: root).map { (root, $0) } }, uniquingKeysWith: { $1 })
    }

    private func rootCheckTime(_ state: State) -> Duration? { state.lastRootCheck.map { $0 + options.rootCheck } }

    /// Returns the time of the next full walk, or nil for never.
    private func walkTime(_ state: State) -> Duration? {
        var times: [Duration] = []
        // A burst of changes has ended by then.
        if let lostAt = state.lostAt { times.append(lostAt + options.settle) }
        if let lastWalk = state.lastWalk {
            let isIncomplete =
                state.shortage != nil || !state.gone.isEmpty || !state.emptyRoots.isEmpty || state.hasFailures
            let interval = options.rescan ?? (isIncomplete ? FollowOptions.usualRescan : nil)
            if let interval { times.append(lastWalk + interval) }
        }
        return times.min()
    }

    /// Evaluates the last full walk.
    private func noteWalk() {
        let watch = state.withLock { $0.watch }
        let shortage = watch?.shortage
        let note = state.withLock { state -> SystemError? in
            guard state.isWalking else { return nil }
            state.isWalking = false
            state.lastWalk = elapsed()
            if let shortage { state.shortage = shortage }
            return state.shortage
        }
        if let note { tellNote(.limited(folders: watch?.count ?? 0, reason: note.reason, isLimit: note.isNoSpace)) }
    }

    // MARK: Changes

    /// Processes changes. The watch calls it as they happen.
    private func take(_ changes: [FolderChange]) {
        var notes: [(AssetName, String?)] = []
        var (arrived, gone): (Set<AssetName>, Set<AssetName>) = ([], [])
        var isLost = false
        for change in changes {
            switch change {
            case .written(let name):
                if source.mayTake(name), let now = Self.look(name) { notes.append((name, now.stamp)) }
            case .created(let name):
                // A file that is about to be written is reported when it is closed. An additional hard link and a
                // symbolic link are not.
                if source.mayTake(name), let now = Self.look(name), now.isShared || now.isLink && source.hasEntries {
                    notes.append((name, now.stamp))
                }
            case .folder(let name): arrived.insert(name)
            case .left(let name): arrived.remove(name)
            case .gone(let name): gone.insert(name)
            case .lost: isLost = true
            }
        }
        let (foundArrived, foundGone, lost) = (arrived, gone, isLost)
        let names = Set(changes.compactMap(\.arrival))
        let isNews = state.withLock { state in
            state.arrived.formUnion(foundArrived)
            state.gone.formUnion(foundGone)
            // An empty root with reported changes is not a mount point that waits for a disk.
            if !state.emptyRoots.isEmpty {
                let told = state.emptyRoots.filter { root in
                    names.contains { $0.bytes.starts(with: root.appending([]).bytes) }
                }
                state.emptyRoots.subtract(told)
            }
            let isFirst = lost && state.lostAt == nil
            // It may exist again in a moment.
            if lost || !foundGone.isEmpty { state.lostAt = elapsed() }
            return isFirst
        }
        note(notes)
        for name in foundGone { tellNote(.gone(name)) }
        if isNews { tellNote(.lost) }
    }

    private func note(_ names: [(AssetName, String?)]) {
        let now = elapsed()
        let unsettled = state.withLock { state in
            names.filter { name, stamp in state.settling.note(name, stamp: stamp, at: now) }.map(\.0)
        }
        changed.notify()
        for name in unsettled { tellNote(.unsettled(name)) }
    }

    /// Watches new folders, and queues their content to settle.
    private func enter(_ folders: Set<AssetName>) async throws {
        guard let watch = state.withLock({ $0.watch }) else { return }
        let source = source.only(folders).watched(by: watch)
        let found = try await BlockingPool.shared.run { flag in
            var walk = try source.makeWalk()
            var found: [(AssetName, String?)] = []
            while !flag.isCancelled, let item = walk.next() {
                switch item {
                case .asset(let asset): found.append((asset.id, asset.stamp.text))
                // Reported once it has settled.
                case .unreadable(let name, _): found.append((name, Self.look(name)?.stamp))
                case .passedOver: break
                // A link settles immediately, and folders are reported with their content.
                case .entry(let entry):
                    if case .link = entry.kind { found.append((entry.id, Self.look(entry.id)?.stamp)) }
                }
            }
            return found
        }
        if let shortage = watch.shortage, state.withLock({ $0.shortage == nil }) {
            state.withLock { $0.shortage = shortage }
            tellNote(.limited(folders: watch.count, reason: shortage.reason, isLimit: shortage.isNoSpace))
        }
        note(found)
    }

    /// Returns the names that have not changed since they were recorded. The others, if they still exist, are queued
    /// again.
    private func stillSettled(_ settled: [ChangeDebouncer.Settled]) async throws -> [AssetName] {
        let looks = try await BlockingPool.shared.run { _ in settled.map { Self.look($0.name)?.stamp } }
        var (names, changed): ([AssetName], [(AssetName, String?)]) = ([], [])
        for (settled, stamp) in zip(settled, looks) {
            guard let stamp else { continue }
            if stamp == settled.stamp { names.append(settled.name) } else { changed.append((settled.name, stamp)) }
        }
        if !changed.isEmpty { note(changed) }
        return names
    }

    private func wait() async {
        let due = state.withLock { [$0.settling.due, walkTime($0), rootCheckTime($0)].compactMap(\.self).min() }
        guard let due else { return await changed.wait() }
        let (time, clock, changed) = (max(due - elapsed(), .zero), options.clock, changed)
        await race({ await changed.wait() }, { await clock.wait(for: time) })
    }

    /// Reads the state of a file or link. Nil if nothing exists at the path.
    private static func look(_ name: AssetName) -> (stamp: String, isShared: Bool, isLink: Bool)? {
        var status = stat()
        guard name.withCString({ lstat($0, &status) }) == 0 else { return nil }
        return (AssetVersion(status).text, status.st_nlink > 1, status.st_mode & S_IFMT == S_IFLNK)
    }
}

extension Clock where Duration == Swift.Duration {
    /// Returns a closure that measures the time since this call.
    fileprivate func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
