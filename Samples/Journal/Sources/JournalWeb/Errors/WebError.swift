public import Foundation
import HTTPTypes

/// The errors of starting the server and of handling requests. Each has a sentence for people.
public struct WebError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: String, Hashable, Sendable {
        /// The options contradict each other, or would permit access without authorization.
        case unsafeOptions
        /// A file that an option names cannot be used.
        case unusableFile
        /// The request is for another host than this server.
        case wrongHost
        /// A page of another site has sent the request.
        case foreignOrigin
        /// This server did not create the form for this browser.
        case foreignForm
        /// The browser has no session that is logged in.
        case notLoggedIn
        /// The password is wrong.
        case wrongPassword
        /// Too many passwords were tried.
        case tooManyTries
        /// The page, the record or the picture does not exist.
        case notFound
        /// The server does not support the method.
        case wrongMethod
        /// A part of the request is missing or invalid.
        case badRequest
        /// The body is larger than the limit.
        case tooLarge
        /// The sync server does not reply, or its reply is invalid.
        case noServer
        /// The body is not a form, or not a picture of a supported type.
        case wrongType
    }

    /// The kind of error.
    public let code: Code
    /// A sentence about the cause and the remedy.
    public let message: String

    /// Creates an error with a sentence.
    public init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// The status of a reply with this error.
    var status: HTTPResponse.Status {
        switch code {
        case .unsafeOptions, .unusableFile: .internalServerError
        case .wrongHost: .misdirectedRequest
        case .foreignOrigin, .foreignForm: .forbidden
        case .notLoggedIn, .wrongPassword: .unauthorized
        case .tooManyTries: .tooManyRequests
        case .notFound: .notFound
        case .wrongMethod: .methodNotAllowed
        case .badRequest: .badRequest
        case .noServer: .badGateway
        case .tooLarge: .contentTooLarge
        case .wrongType: .unsupportedMediaType
        }
    }
}

extension WebError {
    static let noSuchPage = WebError(.notFound, message: "This page does not exist. Its content may have been deleted.")
}
