import LFSStorage
import LFSSystem

/// An outage: a time in which the whole storage is unavailable, rejects us or fails. One call at a time, the probe,
/// checks whether it is over.
struct Outage {
    /// The kinds of calls that can be the probe.
    enum Probe: Equatable {
        case upload(FileID)
        case deletion
    }

    /// The error of the last rejection.
    var error: StorageError
    var failures = 1
    /// True if the delay is over and the next call may be the probe.
    var mayProbe: Bool
    /// True if a probe was requested while another one was running. That one started before the reason for the request,
    /// so a second probe follows.
    var isAskedAgain = false
    /// The running probe, if any.
    var probe: Probe?
    /// True if the only rejection so far may concern a single file. Then another file is tried at once, and the outage
    /// is reported only if that one is rejected too.
    var isDoubtful: Bool

    init(_ error: StorageError) {
        self.error = error
        isDoubtful = error.code == .forbidden
        mayProbe = isDoubtful
    }

    /// Returns true if the answer shows that the outage is over.
    func isEnded(by answer: StorageAnswer) -> Bool {
        switch answer {
        case .accepted: true
        case .known: error.mayBeAboutStorage
        case .alive: error.code == .unreachable
        case .silent, .refused, .nothing: false
        }
    }
}

/// The information about the whole storage in the result of an upload or a deletion.
enum StorageAnswer {
    /// The storage has executed the call.
    case accepted
    /// The storage rejected this one call, so it accepts our credentials.
    case known
    /// The storage responds. Whether it accepts our credentials is unknown, because an overloaded server does not check
    /// them.
    case alive
    /// The storage may be available. It did not respond in time, or the cause of the error is unknown.
    case silent
    /// The storage is unavailable or rejects us, or may do so.
    case refused(StorageError)
    case nothing

    init(_ error: StorageError) {
        switch error.code {
        case _ where error.mayBeAboutStorage: self = .refused(error)
        case .integrity, .noSpace: self = .known
        case .throttled, .serverError: self = .alive
        case .timeout, .unknown: self = .silent
        // This device may have detected such a failure before it called the storage.
        default: self = .nothing
        }
    }
}

extension PoolState {
    /// The number of consecutive failures of any uploads, caused by the storage, after which an outage is assumed.
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
            // A call that started before the outage may also have been answered before it. So its success does not end
            // the outage, but allows a probe at once.
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

    /// Counts consecutive failures that the storage caused, and turns them into an outage unless one exists already.
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

    /// Records that the storage has accepted a part of a running upload. Returns the number of executors to start.
    mutating func accepted(_ id: FileID) -> Int {
        guard outage?.probe == .upload(id) else { return 0 }
        outage = nil
        return executorsToStart()
    }

    /// Allows a probe after the delay that follows a failed one. Returns the number of executors to start.
    mutating func allowProbe() -> Int {
        guard let current = outage, current.probe == nil else { return 0 }
        outage?.mayProbe = true
        return executorsToStart()
    }

    /// Requests a probe because the outage may be over. Returns the number of executors to start.
    mutating func askForProbe() -> Int {
        if outage?.probe != nil { outage?.isAskedAgain = true }
        return allowProbe()
    }

    // MARK: Deletions

    /// True if a deletion that was not permitted before could be permitted now: the outage is over, or the deletion may
    /// be the probe.
    var mayAdmitRefusedDeletion: Bool {
        guard hasRefusedDeletion else { return false }
        guard let outage else { return true }
        return outage.mayProbe && outage.probe == nil && (queued == 0 || isWaiting)
    }

    /// Returns the permission for a deletion: unrestricted without an outage, as the probe if no upload can be it,
    /// otherwise nil.
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

    /// Records the end of a permitted deletion. Returns the number of executors to start.
    mutating func endDeletion(_ admission: Admission, error: StorageError?) -> Int {
        let answer: StorageAnswer =
            switch error?.code {
            case nil, .missing: .accepted
            // Credentials may permit uploads and no deletions, so this does not show an outage.
            case .forbidden: .known
            default: error.map(StorageAnswer.init) ?? .nothing
            }
        note(answer, ofProbe: admission == .probe)
        return executorsToStart()
    }
}

/// The permission for a call to the storage other than an upload.
package enum Admission: Sendable {
    case free, probe
}

extension TransferOutcome {
    /// The information about the whole storage in this outcome.
    var answer: StorageAnswer {
        switch result {
        case .uploaded: .accepted
        case .waiting(let error), .retry(let error, _, _): StorageAnswer(error)
        case .failed, .skipped, .givenBack: .nothing
        }
    }
}
