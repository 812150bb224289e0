import LFSStorage
import LFSSystem

/// A time in which the storage as a whole is away, refuses us or fails. One call at a time, the probe, finds out
/// whether it is over.
struct Outage {
    /// What may find out that it is over.
    enum Probe: Equatable {
        case upload(FileID)
        case deletion
    }

    /// Why, in the words of the last refusal.
    var error: StorageError
    var failures = 1
    /// Whether the wait is over and the next who asks may go as the probe.
    var mayProbe: Bool
    /// Whether a probe was asked for while one was under way. It began before the reason to ask, so another follows.
    var isAskedAgain = false
    /// What is the probe now; nil when nothing is.
    var probe: Probe?
    /// Whether the only refusal so far may be about a single file. Then another file is tried at once, and the outage
    /// is told only when that one is refused too.
    var isDoubtful: Bool

    init(_ error: StorageError) {
        self.error = error
        isDoubtful = error.code == .forbidden
        mayProbe = isDoubtful
    }

    /// Whether the answer shows that it is over.
    func isEnded(by answer: StorageAnswer) -> Bool {
        switch answer {
        case .accepted: true
        case .known: error.mayBeAboutStorage
        case .alive: error.code == .unreachable
        case .silent, .refused, .nothing: false
        }
    }
}

/// What the end of an upload or a deletion tells about the storage as a whole.
enum StorageAnswer {
    /// It did what it was asked.
    case accepted
    /// It refused this one thing, so it knows us.
    case known
    /// It is there; whether it knows us is not told, for an overloaded server does not look.
    case alive
    /// It may be there: it did not answer in time, or nobody can tell what went wrong.
    case silent
    /// It is away or refuses us, or may.
    case refused(StorageError)
    case nothing

    init(_ error: StorageError) {
        switch error.code {
        case _ where error.mayBeAboutStorage: self = .refused(error)
        case .integrity, .noSpace: self = .known
        case .throttled, .serverError: self = .alive
        case .timeout, .unknown: self = .silent
        // Such a failure may have been found on this device, before the storage was asked.
        default: self = .nothing
        }
    }
}

extension PoolState {
    /// After this many uploads in a row that failed on the storage's side, whatever their files, it counts as away.
    static let maxFailuresInARow = 20

    mutating func note(_ answer: StorageAnswer, ofProbe wasProbe: Bool) {
        guard var current = outage else {
            if case .refused(let error) = answer { outage = Outage(error) }
            return
        }
        if wasProbe {
            current.probe = nil
            if current.isAskedAgain { (current.mayProbe, current.isAskedAgain) = (true, false) }
        }
        if current.isEnded(by: answer) {
            // A call that began before the outage may have been answered before it, too. So its success does not end
            // the outage, but lets a probe go at once.
            if !wasProbe, current.probe == nil { current.mayProbe = true }
            outage = wasProbe ? nil : current
            return
        }
        switch answer {
        case .refused(let error):
            current.error = error
            current.isDoubtful = false
            if wasProbe { current.failures += 1 }
        // The probe ended without an answer of the storage, so another call may be the probe.
        case .nothing: if wasProbe { current.mayProbe = true }
        default: if wasProbe { current.failures += 1 }
        }
        outage = current
    }

    /// Counts an upload's failures on the storage's side, and calls them an outage when there is nothing else.
    mutating func count(_ outcome: TransferOutcome) {
        switch (outcome.result, outcome.answer) {
        case (.uploaded, _): failuresInARow = 0
        case (.retry(let error, _, _), .known), (.retry(let error, _, _), .alive), (.retry(let error, _, _), .silent):
            failuresInARow += 1
            guard failuresInARow >= Self.maxFailuresInARow, outage == nil else { return }
            outage = Outage(error)
        default: break
        }
    }

    /// The storage has taken something of a job whose upload still runs. Returns how many executors have to be started.
    mutating func accepted(_ id: FileID) -> Int {
        guard outage?.probe == .upload(id) else { return 0 }
        outage = nil
        return executorsToStart()
    }

    /// The wait after a failed probe is over. Returns how many executors have to be started.
    mutating func allowProbe() -> Int {
        guard let current = outage, current.probe == nil else { return 0 }
        outage?.mayProbe = true
        return executorsToStart()
    }

    /// Somebody has reason to think that it is over. Returns how many executors have to be started.
    mutating func askForProbe() -> Int {
        if outage?.probe != nil { outage?.isAskedAgain = true }
        return allowProbe()
    }

    // MARK: Deletions

    /// Whether a deletion that was not admitted could be by now: the storage is there, or it may be the probe.
    var mayAdmitRefusedDeletion: Bool {
        guard hasRefusedDeletion else { return false }
        guard let outage else { return true }
        return outage.mayProbe && outage.probe == nil && (queued == 0 || isWaiting)
    }

    /// Asks for leave to delete an object: as ever, as the probe when no upload can be it, or not now.
    mutating func admitDeletion() -> Admission? {
        guard let current = outage else { return .free }
        guard current.mayProbe, current.probe == nil, !isStopping, queued == 0 || isWaiting else {
            hasRefusedDeletion = true
            return nil
        }
        outage?.mayProbe = false
        outage?.probe = .deletion
        return .probe
    }

    /// An admitted deletion has ended. Returns how many executors have to be started.
    mutating func endDeletion(_ admission: Admission, _ error: StorageError?) -> Int {
        let answer: StorageAnswer =
            switch error?.code {
            case nil, .missing: .accepted
            // Credentials may allow uploads and no deletions, so this does not show an outage.
            case .forbidden: .known
            default: error.map(StorageAnswer.init) ?? .nothing
            }
        note(answer, ofProbe: admission == .probe)
        return executorsToStart()
    }
}

/// The leave to ask the storage for something that is not an upload.
package enum Admission: Sendable {
    case free, probe
}

extension TransferOutcome {
    /// What it tells about the storage as a whole.
    var answer: StorageAnswer {
        switch result {
        case .uploaded: .accepted
        case .waiting(let error), .retry(let error, _, _): StorageAnswer(error)
        case .failed, .skipped, .givenBack: .nothing
        }
    }
}
