import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Testing

@testable import JournalWeb

@Suite("Badges")
struct BadgeTests {
    private let id: FileID

    init() throws { id = try .sample() }

    private static let now = Date(timeIntervalSince1970: 1_770_000_000)

    private func image(
        _ status: FileData.Status = .local, upload state: Upload.State? = nil, reason: String? = nil,
        due: TimeInterval = 0
    ) throws -> StoredImage {
        var row: [String: (any DatabaseValueConvertible)?] = [
            "id": id, "status": status.rawValue, "url": status == .remote ? "memory:/a" : nil, "proof": nil,
            "name": nil, "contentType": nil, "byteCount": 10, "sha256": String(repeating: "0", count: 64),
            "crc64": nil, "key": "a/\(id)", "createdAt": Self.now, "updateID": "",
        ]
        let file = try FileData(row: Row(row))
        guard let state else { return StoredImage(file: file, upload: nil) }
        row = [
            "fileID": id, "state": state.rawValue, "byteCount": 10, "attempts": reason == nil ? 0 : 1,
            "notBefore": Int64((Self.now.timeIntervalSince1970 + due) * 1_000),
            "errorCode": reason.map { _ in "serverError" }, "errorMessage": reason,
        ]
        return StoredImage(file: file, upload: try Upload(row: Row(row)))
    }

    private func badge(
        _ image: StoredImage, isHere: Bool = true, transfer: FileTransfer? = nil,
        conditions: QueueConditions = QueueConditions()
    ) -> Badge {
        BadgeMaker(
            conditions: conditions, copies: isHere ? [id] : [], transfers: transfer.map { [id: $0] } ?? [:],
            now: Self.now, times: LocalTime(.gmt)
        ).badge(image)
    }

    private static let outage = StorageOutage(code: .unreachable, reason: "No route to the host.", since: now)

    @Test("A queued file waits")
    func waiting() throws {
        let badge = try badge(image(upload: .queued))
        #expect(badge.text == "waiting" && badge.reason == "The upload has not started yet." && badge.canCancel)
    }

    @Test("A queued file shows the reason of an outage")
    func outage() throws {
        let badge = try badge(
            image(upload: .queued, reason: "It failed.", due: 60), conditions: QueueConditions(outage: Self.outage))
        #expect(badge.state == "waiting" && badge.reason == "No route to the host.")
    }

    @Test("A queued file is held while uploads are paused")
    func paused() throws {
        let badge = try badge(image(upload: .queued), conditions: QueueConditions(isPaused: true))
        #expect(badge.text == "held" && badge.reason == "Uploads are paused.")
    }

    @Test("A running upload shows its percentage")
    func uploading() throws {
        let progress = TransferProgress(bytesTransferred: 2, totalBytes: 5)
        let badge = try badge(
            image(upload: .queued), transfer: FileTransfer(direction: .upload, progress: progress))
        #expect(badge.state == "uploading" && badge.text == "uploading 40 %")
    }

    @Test("A failed attempt shows the time of the next one")
    func retrying() throws {
        let badge = try badge(image(upload: .queued, reason: "It failed.", due: 12))
        #expect(badge.text == "failed, next try at 02:40:12" && badge.reason == "It failed.")
        #expect(badge.until == "1770000012000" && badge.canRetry)
    }

    @Test("An attempt that is due again waits")
    func due() throws {
        #expect(try badge(image(upload: .queued, reason: "It failed.", due: -1)).text == "waiting")
    }

    @Test("A given-up upload shows its reason")
    func failed() throws {
        let badge = try badge(image(upload: .failed, reason: "It failed."))
        #expect(badge.text == "failed" && badge.reason == "It failed." && badge.canRetry)
    }

    @Test("A file on both places can be freed")
    func both() throws {
        let badge = try badge(image(.remote))
        #expect(badge.text == "remote and on this device" && badge.canFree && !badge.canFetch)
    }

    @Test("A freed file is remote only and can be fetched")
    func freed() throws {
        let badge = try badge(image(.remote), isHere: false)
        #expect(badge.text == "remote only" && badge.canFetch && !badge.canFree)
    }

    @Test("A file that another device has to upload is elsewhere")
    func elsewhere() throws {
        #expect(try badge(image(), isHere: false).text == "elsewhere")
    }

    @Test("A next attempt of any time makes a badge")
    func anyTime() throws {
        let next = Date(timeIntervalSince1970: 1e300)
        #expect(Badge(state: "retrying", text: "", until: next).until == "100000000000000")
        #expect(Badge(state: "retrying", text: "", until: Date(timeIntervalSince1970: -.infinity)).until == "0")
    }
}
