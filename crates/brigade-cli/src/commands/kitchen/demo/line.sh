# A line cook: one task needs a second attempt, another one is too hard.
prompt=$(cat)
case $BRIGADE_TASK in
US-001)
    if [ "$BRIGADE_ATTEMPT" = 1 ]; then
        echo "Helo" > greeting.txt
    else
        # What went wrong is in the prompt.
        echo "Hello" > greeting.txt
        echo "<learning>The greeting is spelled with two l.</learning>"
    fi
    echo "<promise>COMPLETE</promise>"
    ;;
*)
    echo "I speak no French."
    echo "<promise>BLOCKED</promise>"
    ;;
esac
