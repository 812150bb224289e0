import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// A request that Azure refused: what it said, and what that means to this package.
struct AzureFailure: Error, Sendable, CustomStringConvertible {
    let status: Int
    /// The service's name for the failure; nil when something else has answered.
    let code: String?
    /// The server's time when it answered.
    let serverDate: Date?
    /// Whether the signature was refused for its date: sign again with the server's time.
    let isClockSkew: Bool
    /// Whether the credentials were refused: they have ended, were taken back or are wrong. Ask the provider for
    /// others.
    let isAboutCredentials: Bool
    private let error: StorageError

    /// The failure in the terms of the contract; this value is its cause.
    var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    var description: String { error.message }

    /// What the service allows between its clock and the date of a signature.
    private static let allowedSkew: TimeInterval = 900

    /// Judges by the service's own code, which stands in a field also where there is no body.
    ///
    /// - Parameters:
    ///   - key: the object that the request was about, nil for a container.
    ///   - date: the date of the request's signature.
    ///   - login: what it was let in with, so that no message shows a secret.
    init(_ response: HTTPResponse, key: ObjectKey?, signedAt date: Date, login: AzureLogin) {
        status = response.status
        let reply = response.head.isFromAzure ? Self.reply(response) : nil
        let code = reply?.code
        self.code = code
        let serverDate = reply == nil ? nil : response.headers["date"].flatMap { HTTPDate.parse($0, now: date) }
        self.serverDate = serverDate
        let isSigned = if case .key = login.kind { true } else { false }
        let difference = serverDate.map { abs($0.timeIntervalSince(date)) } ?? 0
        isClockSkew = isSigned && code == "AuthenticationFailed" && difference > Self.allowedSkew
        let meaning =
            if isClockSkew {
                FailureMeaning(.unauthorized, "Set this machine's clock.")
            } else if let code {
                FailureMeaning(azureCode: code, status: status, isAboutObject: key != nil)
            } else {
                FailureMeaning(foreign: response)
            }
        isAboutCredentials = meaning.code == .unauthorized && !isClockSkew
        var message =
            code.map { "Azure answered \(response.status) \($0)" } ?? "Azure did not answer; what did said \(status)"
        if let text = reply?.message.map({ ServerText.explanation($0, hiding: login.secrets) }), !text.isEmpty {
            message += ": \(text)"
        }
        if !".!?…".contains(message.last ?? ".") { message += "." }
        if let advice = meaning.advice { message += " \(advice)" }
        error = StorageError(
            meaning.code, message, key: key, retryAfter: RetryAfter.parse(response.headers, now: date))
    }

    /// Code and message, as far as there are any ("Status and error codes").
    private static func reply(_ response: HTTPResponse) -> (code: String, message: String?)? {
        let element: ReplyElement?
        do {
            element = try XMLReader.read(response.body, root: "Error")
        } catch {
            element = nil  // the answer to a HEAD has no body
        }
        guard let code = response.headers["x-ms-error-code"] ?? element?.optional("Code"),
            (1...100).contains(code.utf8.count), code.utf8.allSatisfy({ $0.isLetter || $0.isDigit })
        else { return nil }
        // What follows the first line is the request's number and the time.
        let lines = element?.optional("Message")?.split(whereSeparator: \.isNewline)
        return (code, lines?.first.map(String.init))
    }
}

extension AzureFailure {
    /// Whether something is under the name that must not be replaced. It is a 409, and was seen as a 412.
    var isTaken: Bool { code == "BlobAlreadyExists" || (status == 412 && code == "ConditionNotMet") }

    /// Whether blocks that were to become a blob do not wait (any more).
    var isAboutBlocks: Bool { code == "InvalidBlockList" }

    /// Whether the service itself says that there is no such blob.
    var isMissing: Bool { status == 404 && code != nil && storageError.isMissing }
}
