import HTTPTypes

/// An error as a page that says what to do.
struct ErrorView: Sendable {
    let heading: String
    let message: String
    let code: Int
    let request: String
    /// A sentence on what to do. Nil if the message says it.
    let advice: String?
    /// The page that helps, with its name. Nil for none.
    let link: String?
    let linkName: String

    init(_ status: HTTPResponse.Status, message: String, request: String) {
        self.message = message
        self.request = request
        code = status.code
        var advice: String?
        var link: (path: String, name: String)?
        switch status.code {
        case 401:
            heading = "Log in first"
            advice =
                "The session of this browser has ended. Go back after the login: the browser may have kept the text."
            link = (path: "/login", name: "Log in")
        case 403:
            heading = "Not allowed"
            advice = "Open the page again in this browser, and repeat the change there."
        case 404:
            heading = "Not found"
            advice = "It may have been deleted in another window or on another device."
            link = (path: "/trash", name: "Recently deleted pictures")
        case 409: heading = "Not possible now"
        case 413:
            heading = "Too large"
            advice = "Choose a smaller file, or start the journal with a larger --max-picture."
        case 507:
            heading = "The disk is full"
            advice = "Pictures that are on the storage can be removed from this device."
            link = (path: "/storage", name: "Free space")
        default: heading = status.reasonPhrase
        }
        self.advice = advice
        self.link = link?.path
        linkName = link?.name ?? ""
    }
}
