import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage

/// Objects in archive classes such as `GLACIER` and `DEEP_ARCHIVE`. A download of one fails with
/// `StorageError.Code.archived`.
extension S3Storage {
    /// The speed of a restore. A faster one costs more.
    public enum RestoreTier: String, Sendable, CaseIterable {
        /// Minutes. Not for `DEEP_ARCHIVE`.
        case expedited = "Expedited"
        /// Hours. For `DEEP_ARCHIVE` up to 12 hours.
        case standard = "Standard"
        /// Up to 12 hours, for `DEEP_ARCHIVE` up to 48 hours.
        case bulk = "Bulk"
    }

    /// The state of an archived object after a request to restore it.
    public enum RestoreState: Sendable {
        /// S3 has accepted the request.
        case requested
        /// An earlier request is not complete yet.
        case inProgress
        /// The object is restored and can be downloaded. Its time starts over.
        case available
    }

    /// Requests a copy of an archived object that can be downloaded for some days ("RestoreObject" of the Amazon S3 API
    /// reference). The copy and the request are billed.
    ///
    /// The method does not wait for the copy, which takes minutes to two days. Call it again to learn its state.
    ///
    /// - Parameters:
    ///   - key: the object.
    ///   - days: the number of days for which the copy exists. The default is 7. nil for an object of the class
    ///     `INTELLIGENT_TIERING`, which returns to its frequent tier.
    ///   - tier: the speed. The default is `standard`.
    /// - Returns: the state of the copy.
    /// - Throws: `StorageError.Code.invalidRequest` for an object that is not archived or for less than one day, and
    ///   `missing` without an object.
    public func restore(
        _ key: ObjectKey, days: Int? = 7, tier: RestoreTier = .standard
    ) async throws -> RestoreState {
        guard days.map({ $0 > 0 }) ?? true else {
            throw StorageError(.invalidRequest, message: "A restore needs at least one day.", key: key)
        }
        return try await translatingFailures(key) {
            var request = S3Request(.post, key: key, query: [("restore", "")])
            let body = Array(Self.restoreBody(days: days, tier: tier).utf8)
            try request.headers.set("content-type", value: "application/xml")
            request.body = .bytes(body)
            request.payloadHash = Hex.text(SHA256.hash(data: body))
            do {
                return try await client.send(request).status == 200 ? .available : .requested
            } catch let failure as S3Failure where failure.code == "RestoreAlreadyInProgress" {
                return .inProgress
            } catch let failure as S3Failure where failure.code == "InvalidObjectState" {
                throw StorageError(
                    .invalidRequest, message: "The object is not archived, so it cannot be restored.", key: key,
                    cause: failure)
            }
        }
    }

    private static func restoreBody(days: Int?, tier: RestoreTier) -> String {
        "<RestoreRequest xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
            + (days.map { "<Days>\($0)</Days>" } ?? "")
            + "<GlacierJobParameters><Tier>\(tier.rawValue)</Tier></GlacierJobParameters></RestoreRequest>"
    }
}
