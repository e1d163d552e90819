@main struct MotteCommand { static func main() {} }
