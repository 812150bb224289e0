import Foundation
import LFSStorage
import Testing

@testable import LFS

@Suite("Promotion retries", .timeLimit(.minutes(10)))
struct PromotionRetryTests {
    @Test("Failed promotions are retried with delays of up to a minute and lose no file")
    func delays() {
        var retry = PromotionRetry(retryInterval: .seconds(1))
        let begin = Date(timeIntervalSince1970: 1_800_000_000)
        var changes = CommitObserver.Changes()
        changes.insertedRows = [7]
        #expect(retry.next(changes, at: begin) == .rows([7]))
        retry.failed(at: begin)
        var tries: [Int] = []
        for second in 1...600 {
            let now = begin + Double(second)
            switch retry.next(CommitObserver.Changes(), at: now) {
            case .nothing: retry.succeeded()
            case .all:
                tries.append(second)
                retry.failed(at: now)
            case .rows: Issue.record("Skipped files are not retried.")
            }
        }
        #expect(tries.prefix(7) == [1, 3, 7, 15, 31, 63, 123])
        #expect(tries.count <= 16)
        #expect(retry.next(changes, at: begin + 700) == .all)
        retry.succeeded()
        #expect(retry.next(changes, at: begin + 701) == .rows([7]))
    }

    @Test("A clock that is set back does not stop the retries of promotions")
    func clock() {
        var retry = PromotionRetry(retryInterval: .seconds(1))
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        retry.failed(at: now)
        #expect(retry.next(CommitObserver.Changes(), at: now - 86_400) == .all)
    }
}
