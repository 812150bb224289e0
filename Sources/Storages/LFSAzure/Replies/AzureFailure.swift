import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// An error reply from Azure, and its meaning for this package.
struct AzureFailure: Error, Sendable, CustomStringConvertible {
    let status: Int
    /// The service's name for the error. nil if another server has answered.
    let code: String?
    /// The server's time when it answered.
    let serverDate: Date?
    /// True if the signature was refused because of its date. Sign again with the server's time.
    let isClockSkew: Bool
    /// True if the credentials were refused because they are expired, revoked or wrong. Ask the provider for new ones.
    let isAboutCredentials: Bool
    private let error: StorageError

    /// The error in the terms of the storage contract. This value is its cause.
    var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    var description: String { error.message }

    /// The difference in seconds that the service accepts between its clock and the date of a signature.
    private static let allowedSkew: TimeInterval = 900

    /// Derives the meaning from the service's error code. The code is also in a header field, for replies without a
    /// body.
    ///
    /// - Parameters:
    ///   - key: the object of the request, or nil for a container.
    ///   - date: the date of the request's signature.
    ///   - login: the authentication of the request. Messages never show its secrets.
    ///   - hasCondition: whether the request had a condition that could fail.
    init(
        _ response: HTTPResponse, key: ObjectKey?, signedAt date: Date, login: AzureLogin, hasCondition: Bool = true
    ) {
        status = response.status
        let reply = response.head.isFromAzure ? Self.reply(response) : nil
        let code = reply?.code
        self.code = code
        let serverDate = reply == nil ? nil : response.headers["date"].flatMap { HTTPDate.parse($0, now: date) }
        self.serverDate = serverDate
        let isSigned = if case .key = login.kind { true } else { false }
        let difference = serverDate.map { abs($0.timeIntervalSince(date)) } ?? 0
        isClockSkew = isSigned && code == "AuthenticationFailed" && difference > Self.allowedSkew
        let stated =
            if isClockSkew {
                ErrorClassification(.unauthorized, advice: "Set this machine's clock.")
            } else if let code {
                ErrorClassification(azureCode: code, status: status, isAboutObject: key != nil)
            } else {
                ErrorClassification(foreign: response)
            }
        let meaning = stated.checked(status: response.status, hasCondition: hasCondition)
        isAboutCredentials = meaning.code == .unauthorized && !isClockSkew
        var message =
            code.map { "Azure answered \(response.status) \($0)" } ?? "Something other than Azure answered \(status)"
        if let text = reply?.message.map({ SanitizedErrorText.explanation($0, hiding: login.secrets) }), !text.isEmpty {
            message += ": \(text)"
        }
        if !".!?…".contains(message.last ?? ".") { message += "." }
        if let advice = meaning.advice { message += " \(advice)" }
        error = StorageError(
            meaning.code, message: message, key: key, retryAfter: RetryAfter.parse(response.headers, now: date))
    }

    /// Returns the code and the message of the reply, if it has them ("Status and error codes").
    private static func reply(_ response: HTTPResponse) -> (code: String, message: String?)? {
        let element: ReplyElement?
        do {
            element = try XMLReader.read(response.body, root: "Error")
        } catch {
            element = nil  // The reply to a HEAD has no body.
        }
        guard let code = response.headers["x-ms-error-code"] ?? element?.optional("Code"),
            (1...100).contains(code.utf8.count), code.utf8.allSatisfy({ $0.isLetter || $0.isDigit })
        else { return nil }
        // The following lines contain the request ID and the time.
        let lines = element?.optional("Message")?.split(whereSeparator: \.isNewline)
        return (code, lines?.first.map(String.init))
    }
}

extension AzureFailure {
    /// True if the name has a blob that must not be replaced. The code is documented with 409, and was observed with
    /// 412.
    var isTaken: Bool { code == "BlobAlreadyExists" || (status == 412 && code == "ConditionNotMet") }

    /// True if the blocks of a commit are not, or no longer, uncommitted blocks of the blob.
    var isAboutBlocks: Bool { code == "InvalidBlockList" }

    /// True if the blob has uncommitted blocks that leave no room for this one: those of another program, whose IDs
    /// have another length, or 100,000 of earlier series.
    var isAboutOtherBlocks: Bool {
        ["InvalidBlobOrBlock", "BlockCountExceedsLimit", "RequestEntityTooLargeBlockCountExceedsLimit"].contains(code)
    }

    /// True if the service itself reports that the blob does not exist.
    var isMissing: Bool { status == 404 && code != nil && storageError.isMissing }
}
